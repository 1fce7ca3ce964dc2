package protocol

import (
	"encoding/json"

	"picobot/internal/chat"
)

// Version is the protocol's version, as welcome names it.
const Version = 1

// Frames the server sends. Each type's name is its "type" in lower case.
type (
	// Welcome answers hello, and follows each change of the attached session.
	Welcome struct {
		Protocol  int    `json:"protocol"`
		Server    string `json:"server"`
		SessionID string `json:"session_id"`
		Title     string `json:"title"`
		LastSeq   int64  `json:"last_seq"`
		Model     string `json:"model"`
		Offline   bool   `json:"offline"`
	}
	// Accepted says that a message is durable.
	Accepted struct {
		ID        string `json:"id"`
		TurnID    string `json:"turn_id"`
		SessionID string `json:"session_id"`
		Duplicate bool   `json:"duplicate"`
	}
	// Turn is the state of a turn: queued, started, completed, failed or cancelled.
	Turn struct {
		TurnID    string      `json:"turn_id"`
		SessionID string      `json:"session_id"`
		Status    string      `json:"status"`
		Error     *Problem    `json:"error,omitempty"`
		Usage     *chat.Usage `json:"usage,omitempty"`
		Steps     int         `json:"steps,omitempty"`
	}
	// Problem is why a turn failed.
	Problem struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	// Delta is a piece of a streamed answer; best effort.
	Delta struct {
		TurnID  string `json:"turn_id"`
		Step    int    `json:"step"`
		Attempt int    `json:"attempt"`
		Kind    string `json:"kind"`
		Text    string `json:"text"`
	}
	// Tool is the state of a tool call: started, completed, failed or unknown.
	Tool struct {
		TurnID  string `json:"turn_id"`
		Step    int    `json:"step"`
		CallID  string `json:"call_id"`
		Name    string `json:"name"`
		Status  string `json:"status"`
		Summary string `json:"summary"`
	}
	// Message is a row of the attached session.
	Message struct {
		SessionID        string          `json:"session_id"`
		Seq              int64           `json:"seq"`
		TurnID           string          `json:"turn_id"`
		Role             chat.Role       `json:"role"`
		Content          string          `json:"content"`
		ReasoningContent string          `json:"reasoning_content,omitempty"`
		ToolCalls        []chat.ToolCall `json:"tool_calls,omitempty"`
		ToolCallID       string          `json:"tool_call_id,omitempty"`
		ToolName         string          `json:"tool_name,omitempty"`
		Media            []chat.MediaRef `json:"media,omitempty"`
		Marker           chat.Marker     `json:"marker,omitempty"`
		CreatedAt        int64           `json:"created_at"`
	}
	// Notice is news outside any turn; deduplicate by ID.
	Notice struct {
		ID    string `json:"id"`
		Level string `json:"level"` // info, warn, error or message
		Text  string `json:"text"`
		JobID string `json:"job_id,omitempty"`
	}
	// Command is the answer to a slash command.
	Command struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		OK   bool            `json:"ok"`
		Text string          `json:"text"`
		Data json.RawMessage `json:"data,omitempty"`
	}
	// Error says why a frame was not taken.
	Error struct {
		ID      string `json:"id,omitempty"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	// Pong answers ping.
	Pong struct{}
)

// Turn states on the wire; started is what the record calls running.
const (
	TurnQueued    = "queued"
	TurnStarted   = "started"
	TurnCompleted = "completed"
	TurnFailed    = "failed"
	TurnCancelled = "cancelled"
)

// Codes of error frames.
const (
	CodeHelloRequired    = "hello_required"
	CodeBadFrame         = "bad_frame"
	CodeUnknownType      = "unknown_type"
	CodeTooLarge         = "too_large"
	CodeNotFound         = "not_found"
	CodeReadOnly         = "read_only"
	CodeBadMedia         = "bad_media"
	CodeStoreUnavailable = "store_unavailable"
	CodeInternal         = "internal"
)

// ServerFrame is any frame the server sends.
type ServerFrame interface{ frameType() string }

func (Welcome) frameType() string  { return "welcome" }
func (Accepted) frameType() string { return "accepted" }
func (Turn) frameType() string     { return "turn" }
func (Delta) frameType() string    { return "delta" }
func (Tool) frameType() string     { return "tool" }
func (Message) frameType() string  { return "message" }
func (Notice) frameType() string   { return "notice" }
func (Command) frameType() string  { return "command" }
func (Error) frameType() string    { return "error" }
func (Pong) frameType() string     { return "pong" }
