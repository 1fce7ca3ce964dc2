package openai

import (
	"encoding/json"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/llm/endpoint"
)

// reply is a whole reply or one chunk of a stream, read as generously as can be:
// a field of a type that nobody expects is an empty field, never a lost answer.
type reply struct {
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
}

type choice struct {
	Index        number   `json:"index"`
	Delta        *message `json:"delta"`
	Message      *message `json:"message"`
	FinishReason text     `json:"finish_reason"`
	Usage        *usage   `json:"usage"` // Kimi's place for it
}

type message struct {
	Content          content    `json:"content"`
	Refusal          text       `json:"refusal"`
	ReasoningContent text       `json:"reasoning_content"`
	Reasoning        text       `json:"reasoning"` // vLLM, OpenRouter
	ToolCalls        []toolCall `json:"tool_calls"`
	FunctionCall     *function  `json:"function_call"` // the protocol's first form
}

type toolCall struct {
	Index    *number  `json:"index"`
	ID       text     `json:"id"`
	Function function `json:"function"`
}

type function struct {
	Name      text      `json:"name"`
	Arguments arguments `json:"arguments"`
}

// usage counts tokens. What was cached and what was thought is a part of the other
// two, and servers have several places for what was cached.
type usage struct {
	PromptTokens     number  `json:"prompt_tokens"`
	CompletionTokens number  `json:"completion_tokens"`
	Prompt           details `json:"prompt_tokens_details"`
	Completion       details `json:"completion_tokens_details"`
	CacheHit         number  `json:"prompt_cache_hit_tokens"` // DeepSeek
	Cached           number  `json:"cached_tokens"`           // Kimi
}

// details are parts of a count; what is no object has none.
type details struct{ cached, reasoning number }

func (d *details) UnmarshalJSON(raw []byte) error {
	var parts struct {
		Cached    number `json:"cached_tokens"`
		Reasoning number `json:"reasoning_tokens"`
	}
	if json.Unmarshal(raw, &parts) == nil {
		d.cached, d.reasoning = parts.Cached, parts.Reasoning
	}
	return nil
}

func (u usage) total() chat.Usage {
	return chat.Usage{
		PromptTokens:     int64(u.PromptTokens),
		CompletionTokens: int64(u.CompletionTokens),
		CachedTokens:     int64(max(u.Prompt.cached, u.CacheHit, u.Cached)),
		ReasoningTokens:  int64(u.Completion.reasoning),
	}
}

// decodeReply reads a whole reply.
func decodeReply(raw []byte) (reply, error) {
	if f := endpoint.InlineFailure(raw, false); f != nil {
		return reply{}, f
	}
	r, err := decodeChunk(raw)
	if err != nil {
		return reply{}, err
	}
	if len(r.Choices) == 0 {
		return reply{}, noChoices(raw)
	}
	return r, nil
}

// decodeChunk reads one chunk of a stream.
func decodeChunk(raw []byte) (reply, error) {
	var r reply
	if err := json.Unmarshal(raw, &r); err != nil {
		return reply{}, endpoint.NotJSON()
	}
	if len(r.Choices) == 0 && r.Usage == nil {
		if endpoint.IsCodeAndMessage(raw) {
			return reply{}, noChoices(raw)
		}
	}
	return r, nil
}

// noChoices is for replies such as {"code": …, "message": …} with status 200.
func noChoices(raw []byte) *endpoint.Failure {
	if f := endpoint.InlineFailure(raw, true); f != nil {
		return f
	}
	return &endpoint.Failure{Kind: llm.KindServer, Message: "the endpoint sent an answer without choices"}
}

// first returns the choice that counts; only one is ever asked for.
func (r reply) first() (choice, message, bool) {
	for _, c := range r.Choices {
		if c.Index != 0 {
			continue
		}
		switch {
		case c.Delta != nil:
			return c, *c.Delta, true
		case c.Message != nil:
			return c, *c.Message, true
		}
		return c, message{}, true
	}
	return choice{}, message{}, false
}

func (r reply) usage() (usage, bool) {
	if r.Usage != nil {
		return *r.Usage, true
	}
	if c, _, ok := r.first(); ok && c.Usage != nil {
		return *c.Usage, true
	}
	return usage{}, false
}

func (m message) text() string {
	if m.Content.text == "" {
		return string(m.Refusal)
	}
	return m.Content.text
}

func (m message) reasoning() string {
	for _, s := range []string{string(m.ReasoningContent), string(m.Reasoning)} {
		if s != "" {
			return s
		}
	}
	return m.Content.thinking
}

func (m message) calls() []toolCall {
	if len(m.ToolCalls) == 0 && m.FunctionCall != nil {
		return []toolCall{{Function: *m.FunctionCall}}
	}
	return m.ToolCalls
}

// completion writes a whole reply in the one form that go-openai can read.
func (r reply) completion() goopenai.ChatCompletionResponse {
	c, m, _ := r.first()
	out := goopenai.ChatCompletionMessage{Role: goopenai.ChatMessageRoleAssistant, Content: m.text(), ReasoningContent: m.reasoning()}
	for _, call := range m.calls() {
		out.ToolCalls = append(out.ToolCalls, goopenai.ToolCall{
			ID:       string(call.ID),
			Type:     goopenai.ToolTypeFunction,
			Function: goopenai.FunctionCall{Name: string(call.Function.Name), Arguments: string(call.Function.Arguments)},
		})
	}
	u, _ := r.usage()
	counted := u.total()
	return goopenai.ChatCompletionResponse{
		Choices: []goopenai.ChatCompletionChoice{{Message: out, FinishReason: goopenai.FinishReason(c.FinishReason)}},
		Usage: goopenai.Usage{
			PromptTokens: int(counted.PromptTokens), PromptTokensDetails: &goopenai.PromptTokensDetails{CachedTokens: int(counted.CachedTokens)},
			CompletionTokens: int(counted.CompletionTokens), CompletionTokensDetails: &goopenai.CompletionTokensDetails{ReasoningTokens: int(counted.ReasoningTokens)},
		},
	}
}

type (
	text   = endpoint.Text
	number = endpoint.Number
)

// arguments are text; an object in their place is kept as the text it is.
type arguments string

func (a *arguments) UnmarshalJSON(raw []byte) error {
	var s string
	switch {
	case json.Unmarshal(raw, &s) == nil:
		*a = arguments(s)
	case raw[0] == '{' || raw[0] == '[':
		*a = arguments(raw)
	}
	return nil
}

// content is a string or, with Mistral and others, a list of parts.
type content struct {
	text     string
	thinking string
}

func (c *content) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &c.text) == nil {
		return nil
	}
	var parts []struct {
		Text     text    `json:"text"`
		Thinking content `json:"thinking"`
	}
	if raw[0] != '[' || json.Unmarshal(raw, &parts) != nil {
		return nil
	}
	var said, thought strings.Builder
	for _, part := range parts {
		said.WriteString(string(part.Text))
		thought.WriteString(part.Thinking.text)
	}
	c.text, c.thinking = said.String(), thought.String()
	return nil
}
