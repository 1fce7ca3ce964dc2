package protocol

// Frames a client sends.
type (
	// Hello is the first frame of a connection.
	Hello struct {
		ClientID  string `json:"client_id"`
		ChatID    string `json:"chat_id,omitempty"`    // Decode fills in ClientID
		SenderID  string `json:"sender_id,omitempty"`  // Decode fills in ChatID
		SessionID string `json:"session_id,omitempty"` // attach to this one
		FromSeq   *int64 `json:"from_seq,omitempty"`   // replay what came after; nil = replay nothing
		// Follow says that SessionID is only where the client had got to in its chat: once
		// that dialog is over, it goes on in the one that took its place.
		Follow bool   `json:"follow,omitempty"`
		Agent  string `json:"agent,omitempty"` // for a session that this creates
		Locale string `json:"locale,omitempty"`
	}
	// UserMessage is the frame "message" of a client: something said, or a command.
	UserMessage struct {
		ID      string  `json:"id"`
		Content string  `json:"content"`
		Media   []Media `json:"media,omitempty"`
	}
	// Media is an attachment as a client names it: exactly one of URL, Path and
	// Data should be set, which is for the receiver to check.
	Media struct {
		Type string `json:"type"`
		URL  string `json:"url,omitempty"`
		Path string `json:"path,omitempty"`
		Data string `json:"data,omitempty"` // base64
		MIME string `json:"mime,omitempty"`
	}
	// Attach changes the session the connection follows.
	Attach struct {
		SessionID string `json:"session_id"`
		FromSeq   *int64 `json:"from_seq,omitempty"`
	}
	// Cancel stops a turn; without TurnID the running or oldest waiting one.
	Cancel struct {
		TurnID string `json:"turn_id,omitempty"`
	}
	// Ping asks for a Pong.
	Ping struct{}
)

// ClientFrame is any frame a client sends.
type ClientFrame interface{ clientFrameType() string }

func (Hello) clientFrameType() string       { return "hello" }
func (UserMessage) clientFrameType() string { return "message" }
func (Attach) clientFrameType() string      { return "attach" }
func (Cancel) clientFrameType() string      { return "cancel" }
func (Ping) clientFrameType() string        { return "ping" }
