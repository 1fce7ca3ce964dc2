package chat

// Role says who a message comes from. The values are OpenAI's.
type Role string

// The four roles a row of the record can have.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Marker sets rows apart that are not plain conversation. The empty marker is a plain row.
type Marker string

// Markers of system rows, then of assistant rows.
const (
	MarkerAgentPrompt           Marker = "agent_prompt"
	MarkerScheduledSystemPrompt Marker = "scheduled_system_prompt"
	MarkerHistoryCompaction     Marker = "history_compaction"
	MarkerWelcome               Marker = "welcome"

	MarkerError    Marker = "error"    // why a turn failed
	MarkerOutbound Marker = "outbound" // what was sent to the chat outside a turn
)

// ToolCall is one call the model asked for, as OpenAI writes it.
type ToolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"` // always "function"
	Function FunctionCall `json:"function"`
}

// FunctionCall names a tool and carries its arguments as JSON text. The text is
// what the model wrote: it may be no valid JSON.
type FunctionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// NewToolCall returns a call of type "function".
func NewToolCall(id, name, arguments string) ToolCall {
	return ToolCall{ID: id, Type: "function", Function: FunctionCall{Name: name, Arguments: arguments}}
}

// MediaRef points at a file that belongs to a message. Contents never travel
// with a message: they are read where they are needed.
type MediaRef struct {
	Type string `json:"type"`           // "image"
	Path string `json:"path,omitempty"` // file below the home's media directory, or inside the workspace
	URL  string `json:"url,omitempty"`  // http(s) address, fetched by the provider
	MIME string `json:"mime,omitempty"`
	Name string `json:"name,omitempty"`
	Size int64  `json:"size,omitempty"` // bytes
}

// Message is one message of a conversation, as the record keeps it and as a
// model is told it.
type Message struct {
	Seq              int64 // its place in its session; 0 = it has none, it was made for a request
	Role             Role
	Content          string
	ReasoningContent string
	Media            []MediaRef
	ToolCalls        []ToolCall // assistant only
	ToolCallID       string     // tool only: which call this answers
	ToolName         string     // tool only
	Marker           Marker
}

// Usage counts the tokens of one model call or of a whole turn. Cached and reasoning
// tokens are a part of the others, and left out of JSON where there are none: most
// providers do not report them.
type Usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	CachedTokens     int64 `json:"cached_tokens,omitempty"`    // of the prompt: read from a cache
	ReasoningTokens  int64 `json:"reasoning_tokens,omitempty"` // of the completion: thought, not said
}

// Add returns the sum of both usages.
func (u Usage) Add(o Usage) Usage {
	return Usage{
		PromptTokens:     u.PromptTokens + o.PromptTokens,
		CompletionTokens: u.CompletionTokens + o.CompletionTokens,
		CachedTokens:     u.CachedTokens + o.CachedTokens,
		ReasoningTokens:  u.ReasoningTokens + o.ReasoningTokens,
	}
}

// TurnStatus is the state of a turn.
type TurnStatus string

// A turn is queued, then running, then in one of three final states.
const (
	TurnQueued    TurnStatus = "queued"
	TurnRunning   TurnStatus = "running"
	TurnCompleted TurnStatus = "completed"
	TurnFailed    TurnStatus = "failed"
	TurnCancelled TurnStatus = "cancelled"
)

// Final reports whether a turn in this state will never change again.
func (s TurnStatus) Final() bool {
	return s == TurnCompleted || s == TurnFailed || s == TurnCancelled
}

// ToolStatus is the state of one tool run.
type ToolStatus string

// A tool run is claimed before it acts, then in one of three final states.
const (
	ToolClaimed   ToolStatus = "claimed"
	ToolCompleted ToolStatus = "completed"
	ToolFailed    ToolStatus = "failed"
	ToolUnknown   ToolStatus = "unknown"
)

// Final reports whether a tool run in this state will never change again.
func (s ToolStatus) Final() bool { return s != ToolClaimed }
