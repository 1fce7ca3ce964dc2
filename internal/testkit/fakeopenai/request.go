package fakeopenai

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Request is one chat request as the server understood it.
type Request struct {
	Model       string
	Messages    []Message
	Tools       []Tool
	ToolChoice  string // "none", "auto", "required", or the JSON of a named choice
	Stream      bool
	Temperature *float64
	MaxTokens   int                        // max_tokens or max_completion_tokens
	Fields      map[string]json.RawMessage // every field of the body
	Raw         []byte                     // the body as it came
	Header      http.Header
	Refused     string // why it was answered with an error, empty when it was valid
}

// Message is one message of a request.
type Message struct {
	Role             string
	Content          string   // text parts joined
	Images           []string // URLs of image parts
	ToolCalls        []ToolCall
	ToolCallID       string
	ReasoningContent *string // nil when the field was not sent
}

// ToolCall is a call, in a request's history or in a Reply.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string
}

// Tool is a tool that a request offers.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// LastUser returns the text of the last user message.
func (r Request) LastUser() string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "user" {
			return m.Content
		}
	}
	return ""
}

// ToolResults returns the tool messages after the last user message, in order.
func (r Request) ToolResults() []Message {
	var results []Message
	for _, m := range r.Messages {
		switch m.Role {
		case "user":
			results = nil
		case "tool":
			results = append(results, m)
		}
	}
	return results
}

// System returns all system messages, joined by blank lines.
func (r Request) System() string {
	var parts []string
	for _, m := range r.Messages {
		if m.Role == "system" || m.Role == "developer" {
			parts = append(parts, m.Content)
		}
	}
	return strings.Join(parts, "\n\n")
}
