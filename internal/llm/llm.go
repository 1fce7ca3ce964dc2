package llm

import (
	"context"
	"encoding/json"

	"picobot/internal/chat"
)

// Provider talks to one endpoint. Implementations are safe for concurrent use,
// never retry, and return *Error for everything that goes wrong with a call
// (context errors included, wrapped, so that errors.Is still finds them).
type Provider interface {
	// Complete runs one model call. onDelta is called from the calling goroutine,
	// in order, for each piece of a streamed answer; it may be nil. With an error the
	// response holds nothing but the usage that was reported before: it is paid for.
	Complete(ctx context.Context, req Request, onDelta func(Delta)) (Response, error)
	// Ping checks that the endpoint answers and takes the key, at little or no cost.
	Ping(ctx context.Context) error
}

// Request is one model call.
type Request struct {
	Model    Model
	Messages []Message
	Tools    []Tool
	// ForbidTools keeps Tools in the request (some providers demand it when the
	// history has tool messages) but forbids the model to call one.
	ForbidTools bool
	// Schema asks for an answer in JSON, nil = words. Not together with Tools that
	// may be called.
	Schema *Schema
}

// Model is what a request needs to know of the configured model.
type Model struct {
	Name            string // its name in the config, for errors and metrics
	Provider        string // its provider's name in the config, for texts
	ID              string // its name at the provider
	MaxOutputTokens int    // 0 = the provider's default
	Temperature     *float64
	Reasoning       string // auto | echo | drop
	Vision          bool
	Stream          bool
	Extra           map[string]json.RawMessage // merged into the request body
}

// Message is a chat message with its media loaded.
type Message struct {
	chat.Message
	Images []Image
}

// Image is an image to show to the model: either a URL or the bytes.
type Image struct {
	URL  string
	MIME string
	Data []byte
}

// Tool is a tool the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON schema of an object
}

// DeltaKind says what a Delta carries.
type DeltaKind string

// Kinds of delta, as the WebSocket protocol names them.
const (
	DeltaText      DeltaKind = "text"
	DeltaReasoning DeltaKind = "reasoning"
)

// Delta is a piece of a streamed answer.
type Delta struct {
	Kind DeltaKind
	Text string
}

// StopReason says why the model stopped.
type StopReason string

// Stop reasons of all providers, in OpenAI's words.
const (
	StopEnd           StopReason = "stop"
	StopToolCalls     StopReason = "tool_calls"
	StopLength        StopReason = "length"
	StopContentFilter StopReason = "content_filter"
)

// Response is a whole answer. Tool calls have non-empty ids, unique within the
// response; their arguments are what the model wrote, "" written as "{}". The
// calls of an answer that its length limit cut may be half-written: they never run.
type Response struct {
	Content          string
	ReasoningContent string // as a row stores it, see chat.ParseReasoning
	ToolCalls        []chat.ToolCall
	Stop             StopReason
	Usage            chat.Usage // zero when the provider reported none; what was cached counts, too
}
