package fakeanthropic

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Request is one request as the server understood it.
type Request struct {
	Model      string
	System     []Block
	Messages   []Message
	Tools      []Tool
	ToolChoice string // "none", "auto", "any", or the name of a tool
	MaxTokens  int
	Stream     bool
	Thinking   string                     // type of thinking, "" when the field was not sent
	Fields     map[string]json.RawMessage // every field of the body
	Raw        []byte                     // the body as it came
	Header     http.Header
	Refused    string // why it was answered with an error, empty when it was valid

	// Breakpoints says where cache_control stood, in the order in which a prompt is
	// put together: "tools.1", "system.0", "messages.2.0".
	Breakpoints             []string
	CacheRead, CacheWritten int // blocks, as this server caches them

	prefix []string // a hash of everything up to each block
	points []int    // which of them have a breakpoint
}

// Message is one message of a request.
type Message struct {
	Role   string
	Blocks []Block
}

// Block is one block of content, of a request or of a Reply.
type Block struct {
	Type      string
	Text      string // of a text, a thought or a result
	Signature string // of a thought
	Data      string // of a redacted thought, or of an image in base64
	MediaType string // of an image
	URL       string // of an image
	ID        string // of a call, or the call a result is of
	Name      string // of a call
	Input     string // of a call, JSON as it was written
	IsError   bool   // of a result
	Raw       string // a block of any other kind, whole
	Cached    bool   // it carries cache_control
}

// Tool is a tool that a request offers.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
	Cached      bool
}

// Text returns the message's text blocks, joined.
func (m Message) Text() string {
	var text strings.Builder
	for _, b := range m.Blocks {
		if b.Type == "text" {
			text.WriteString(b.Text)
		}
	}
	return text.String()
}

// Of returns the message's blocks of one type.
func (m Message) Of(kind string) []Block {
	var out []Block
	for _, b := range m.Blocks {
		if b.Type == kind {
			out = append(out, b)
		}
	}
	return out
}

// Types lists the types of the message's blocks.
func (m Message) Types() []string {
	var out []string
	for _, b := range m.Blocks {
		out = append(out, b.Type)
	}
	return out
}

// LastUser returns the text of the last user message that has one.
func (r Request) LastUser() string {
	for _, m := range slices.Backward(r.Messages) {
		if text := m.Text(); m.Role == "user" && text != "" {
			return text
		}
	}
	return ""
}
