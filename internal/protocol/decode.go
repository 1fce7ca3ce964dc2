package protocol

import (
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Bounds of what a client may send. The size of a whole frame, and with it of
// content and data, is bounded by whoever reads frames from the wire.
const (
	MaxID    = 256      // bytes of an id
	MaxMedia = 16       // attachments of a message
	maxWord  = 64       // bytes of a type, a locale, a MIME type
	maxRef   = 8 * 1024 // bytes of a URL or a path
)

// Decode reads a frame of a client. Keys it does not know are ignored; everything
// it does know must have the right type, and what is required must be there. The
// error is ready to be sent back, with the frame's id where it has one.
func Decode(b []byte) (ClientFrame, *Error) {
	if !utf8.Valid(b) {
		return nil, badFrame("a frame must be UTF-8 text")
	}
	if !json.Valid(b) || !isObject(b) {
		return nil, badFrame("a frame must be one JSON object")
	}
	// Key by key, because encoding/json matches struct keys without regard to case.
	f := fields{raw: pick(b, frameKeys)}
	typ := f.str("type", required, maxWord)
	if f.err != nil {
		return nil, f.err
	}
	var out ClientFrame
	switch typ {
	case "hello":
		out = f.hello()
	case "message":
		out = f.message()
	case "attach":
		out = Attach{SessionID: f.str("session_id", required, maxSessionID), FromSeq: f.seq("from_seq")}
	case "cancel":
		out = Cancel{TurnID: f.str("turn_id", optional, MaxID)}
	case "ping":
		out = Ping{}
	default:
		return nil, &Error{ID: f.id(), Code: CodeUnknownType, Message: fmt.Sprintf("there is no frame of type %q: send hello, message, attach, cancel or ping", typ)}
	}
	if f.err != nil {
		f.err.ID = f.id()
		return nil, f.err
	}
	return out, nil
}

// frameKeys are the keys that some frame of a client has.
var frameKeys = keys("type", "client_id", "chat_id", "sender_id", "session_id", "from_seq", "follow", "agent", "locale", "id", "content", "media", "turn_id")

// mediaKeys are those of an attachment.
var mediaKeys = keys("type", "url", "path", "data", "mime")

func keys(names ...string) map[string]bool {
	out := map[string]bool{}
	for _, name := range names {
		out[name] = true
	}
	return out
}

// maxSessionID leaves room for a channel, a chat id of MaxID bytes that are all
// written as %3A, and a dialog id.
const maxSessionID = 4 * MaxID

func badFrame(format string, args ...any) *Error {
	return &Error{Code: CodeBadFrame, Message: fmt.Sprintf(format, args...)}
}

func (f *fields) hello() Hello {
	h := Hello{
		ClientID:  f.str("client_id", required, MaxID),
		ChatID:    f.str("chat_id", optional, MaxID),
		SenderID:  f.str("sender_id", optional, MaxID),
		SessionID: f.str("session_id", optional, maxSessionID),
		FromSeq:   f.seq("from_seq"),
		Follow:    f.flag("follow"),
		Agent:     f.str("agent", optional, MaxID),
		Locale:    f.str("locale", optional, maxWord),
	}
	if h.ChatID == "" {
		h.ChatID = h.ClientID
	}
	if h.SenderID == "" {
		h.SenderID = h.ChatID
	}
	return h
}

func (f *fields) message() UserMessage {
	return UserMessage{ID: f.str("id", required, MaxID), Content: f.text("content", required), Media: f.media("media")}
}

// fields takes the known keys out of an object and remembers the first thing wrong.
type fields struct {
	raw map[string]json.RawMessage
	err *Error
}

type need bool

const (
	required need = true
	optional need = false
)

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = badFrame(format, args...)
	}
}

// get returns a key's value; null is as good as nothing.
func (f *fields) get(key string, n need) (json.RawMessage, bool) {
	v, ok := f.raw[key]
	if !ok || string(v) == "null" {
		if n {
			f.fail("%q is missing", key)
		}
		return nil, false
	}
	return v, true
}

// text returns a string of any length.
func (f *fields) text(key string, n need) string {
	v, ok := f.get(key, n)
	if !ok {
		return ""
	}
	var s string
	if err := json.Unmarshal(v, &s); err != nil {
		f.fail("%q must be a string", key)
	}
	return s
}

// str returns a string that names something: short, printable, and not empty when required.
func (f *fields) str(key string, n need, limit int) string {
	s := f.text(key, n)
	switch {
	case f.err != nil:
		return ""
	case s == "" && bool(n):
		f.fail("%q must not be empty", key)
	case len(s) > limit:
		f.fail("%q must not be longer than %d bytes", key, limit)
	case !printable(s):
		f.fail("%q must not contain control characters", key)
	default:
		return s
	}
	return ""
}

func printable(s string) bool {
	for _, r := range s {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return false
		}
	}
	return true
}

// seq returns a row number, or nil where there is none.
func (f *fields) seq(key string) *int64 {
	v, ok := f.get(key, optional)
	if !ok {
		return nil
	}
	var n int64
	if err := json.Unmarshal(v, &n); err != nil || n < 0 {
		f.fail("%q must be a whole number, 0 or greater", key)
		return nil
	}
	return &n
}

// flag returns a boolean, false where there is none.
func (f *fields) flag(key string) bool {
	v, ok := f.get(key, optional)
	if !ok {
		return false
	}
	var b bool
	if err := json.Unmarshal(v, &b); err != nil {
		f.fail("%q must be true or false", key)
	}
	return b
}

func (f *fields) media(key string) []Media {
	v, ok := f.get(key, optional)
	if !ok {
		return nil
	}
	if !isList(v) {
		f.fail("%q must be a list of objects", key)
		return nil
	}
	var out []Media // nil for an empty list: as good as none
	for entry := range elements(v) {
		i := len(out)
		if i == MaxMedia {
			f.fail("%q must not have more than %d entries", key, MaxMedia)
			return nil
		}
		if !isObject(entry) {
			f.fail("%q must be a list of objects", key)
			return nil
		}
		m := fields{raw: pick(entry, mediaKeys)}
		out = append(out, Media{
			Type: m.str("type", required, maxWord),
			URL:  m.str("url", optional, maxRef),
			Path: m.str("path", optional, maxRef),
			Data: m.text("data", optional),
			MIME: m.str("mime", optional, maxWord),
		})
		if m.err != nil {
			f.fail("entry %d of %q: %s", i, key, m.err.Message)
			return nil
		}
	}
	return out
}

// id returns the frame's id for an error to name, or "" if it has none worth naming.
func (f *fields) id() string {
	clean := fields{raw: f.raw}
	return clean.str("id", optional, MaxID)
}
