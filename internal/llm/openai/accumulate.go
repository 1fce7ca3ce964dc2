package openai

import (
	"encoding/json"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/llm/endpoint"
)

// accumulator puts an answer together from its chunks. The zero value is ready.
type accumulator struct {
	content   strings.Builder
	reasoning strings.Builder
	calls     []*entry
	reason    string
	usage     chat.Usage
	size      int // bytes of text and arguments so far
}

// Bounds of one answer: what is beyond them is a runaway, not an answer.
const (
	maxAnswerBytes = 32 << 20
	maxCalls       = 512
)

// entry is a tool call that is being written.
type entry struct {
	index     int // the index its pieces carry, -1 when they carry none
	id        string
	name      string
	arguments strings.Builder
}

// add takes one chunk and reports what it adds to the visible answer.
func (a *accumulator) add(r reply, onDelta func(llm.Delta)) error {
	if u, ok := r.usage(); ok {
		// Where several chunks carry usage, each counts everything so far.
		a.usage = u.total()
	}
	c, m, ok := r.first()
	if !ok {
		return nil
	}
	if s := m.reasoning(); s != "" {
		a.size += len(s)
		a.reasoning.WriteString(s)
		onDelta(llm.Delta{Kind: llm.DeltaReasoning, Text: s})
	}
	if s := m.text(); s != "" {
		a.size += len(s)
		a.content.WriteString(s)
		onDelta(llm.Delta{Kind: llm.DeltaText, Text: s})
	}
	for i, call := range m.calls() {
		a.size += len(call.Function.Name) + len(call.Function.Arguments)
		a.addCall(call, i)
	}
	a.addReason(string(c.FinishReason))
	if a.size > maxAnswerBytes || len(a.calls) > maxCalls {
		return endpoint.TooLarge()
	}
	return nil
}

// addReason keeps the reason that says most when several come: routers send a
// plain "stop" behind the real one.
func (a *accumulator) addReason(reason string) {
	if reason == "" || reason == "null" || (a.reason != "" && reason == string(llm.StopEnd)) {
		return
	}
	a.reason = reason
}

// addCompletion takes a whole reply. Its calls are whole, so none are merged.
func (a *accumulator) addCompletion(r goopenai.ChatCompletionResponse) {
	a.usage = chat.Usage{PromptTokens: int64(r.Usage.PromptTokens), CompletionTokens: int64(r.Usage.CompletionTokens)}
	if d := r.Usage.PromptTokensDetails; d != nil {
		a.usage.CachedTokens = int64(d.CachedTokens)
	}
	if d := r.Usage.CompletionTokensDetails; d != nil {
		a.usage.ReasoningTokens = int64(d.ReasoningTokens)
	}
	for _, c := range r.Choices {
		a.content.WriteString(c.Message.Content)
		a.reasoning.WriteString(c.Message.ReasoningContent)
		for _, call := range c.Message.ToolCalls {
			e := &entry{index: -1, id: call.ID, name: call.Function.Name}
			e.arguments.WriteString(call.Function.Arguments)
			a.calls = append(a.calls, e)
		}
		a.addReason(string(c.FinishReason))
	}
}

// addCall takes a piece of a tool call, the position-th of its chunk.
func (a *accumulator) addCall(piece toolCall, position int) {
	e := a.find(piece, position)
	if e == nil {
		e = &entry{index: -1}
		if piece.Index != nil {
			e.index = int(*piece.Index)
		}
		a.calls = append(a.calls, e)
	}
	if piece.ID != "" {
		e.id = string(piece.ID)
	}
	if name := string(piece.Function.Name); name != e.name {
		e.name += name // some send the name in pieces, some repeat it whole
	}
	e.arguments.WriteString(string(piece.Function.Arguments))
}

// find returns the entry that a piece continues, nil when it begins one.
func (a *accumulator) find(piece toolCall, position int) *entry {
	current := a.current(piece)
	if current == nil {
		return nil
	}
	if piece.ID != "" && current.id != "" && string(piece.ID) != current.id {
		return nil
	}
	if piece.Function.Name == "" {
		return current
	}
	sameName := string(piece.Function.Name) == current.name
	if piece.Index == nil && piece.ID == "" && (position > 0 || (current.name != "" && !sameName)) {
		return nil // only its name, or its place in the chunk, tells this call from the last one
	}
	// A name for a call whose arguments are complete begins the next call, unless
	// it only repeats the header of this one.
	repeats := piece.ID != "" && string(piece.ID) == current.id && sameName &&
		strings.TrimSpace(string(piece.Function.Arguments)) == ""
	if current.complete() && !repeats {
		return nil
	}
	return current
}

// current returns the newest entry that a piece's index and id allow: those of the
// same index, or the last one of all when it has none.
func (a *accumulator) current(piece toolCall) *entry {
	var newest *entry
	for _, e := range a.calls {
		if piece.Index != nil && e.index != int(*piece.Index) {
			continue
		}
		if piece.ID != "" && e.id == string(piece.ID) {
			newest = e
			continue
		}
		if newest == nil || piece.ID == "" || newest.id != string(piece.ID) {
			newest = e
		}
	}
	return newest
}

// complete reports that the arguments are a whole JSON object: nothing can follow.
func (e *entry) complete() bool {
	s := strings.TrimSpace(e.arguments.String())
	return strings.HasSuffix(s, "}") && s[0] == '{' && json.Valid([]byte(s))
}

// finished reports that the endpoint said why the answer ends.
func (a *accumulator) finished() bool { return a.reason != "" }

// failed returns an error with what it cost.
func (a *accumulator) failed(err error) (llm.Response, error) {
	return llm.Response{Usage: a.usage}, err
}

// finish returns the answer. A stream that never said why it ended was cut off; a
// whole reply that does not say so is whole all the same.
func (a *accumulator) finish(streamed bool) (llm.Response, error) {
	if streamed && !a.finished() {
		return a.failed(&endpoint.Failure{Kind: llm.KindIncomplete, Message: "the stream ended before the answer did"})
	}
	stop, err := a.stop()
	if err != nil {
		return a.failed(err)
	}
	resp := llm.Response{Content: a.content.String(), ReasoningContent: chat.StoredReasoning(a.reasoning.String()), Stop: stop, Usage: a.usage}
	if resp.ToolCalls, err = a.toolCalls(); err != nil {
		return a.failed(err)
	}
	switch {
	case stop == llm.StopContentFilter && resp.Content == "" && len(resp.ToolCalls) == 0:
		return a.failed(&endpoint.Failure{Kind: llm.KindContentFiltered, Message: "the provider's content filter withheld the answer"})
	case stop == llm.StopEnd && len(resp.ToolCalls) > 0:
		resp.Stop = llm.StopToolCalls
	case stop == llm.StopToolCalls && len(resp.ToolCalls) == 0:
		resp.Stop = llm.StopEnd
	}
	return resp, nil
}

// stop maps the reasons that endpoints give to ours.
func (a *accumulator) stop() (llm.StopReason, error) {
	switch a.reason {
	case "tool_calls", "function_call", "tool_use":
		return llm.StopToolCalls, nil
	case "length", "max_tokens", "model_length", "MAX_TOKENS":
		return llm.StopLength, nil
	case "content_filter", "safety", "SAFETY", "refusal", "sensitive":
		return llm.StopContentFilter, nil
	case "error", "network_error":
		return "", &endpoint.Failure{Kind: llm.KindServer, Message: "the endpoint gave up on the answer"}
	case "insufficient_system_resource":
		return "", &endpoint.Failure{Kind: llm.KindOverloaded, Message: "the endpoint ran out of resources"}
	case "model_context_window_exceeded":
		return "", &endpoint.Failure{Kind: llm.KindContextTooLarge, Message: "the conversation is too long for the model"}
	}
	return llm.StopEnd, nil
}

// toolCalls returns the calls with ids that are there and unique.
func (a *accumulator) toolCalls() ([]chat.ToolCall, error) {
	var calls []chat.ToolCall
	var ids []string
	for _, e := range a.calls {
		arguments := e.arguments.String()
		if e.name == "" && strings.TrimSpace(arguments) == "" {
			continue // a stray header; nothing was asked for
		}
		if e.name == "" {
			return nil, &endpoint.Failure{Kind: llm.KindServer, Message: "the endpoint sent a tool call without a name"}
		}
		if strings.TrimSpace(arguments) == "" {
			arguments = "{}"
		}
		ids = append(ids, e.id)
		calls = append(calls, chat.NewToolCall("", e.name, arguments))
	}
	for i, id := range llm.UniqueIDs(ids) {
		calls[i].ID = id
	}
	return calls, nil
}
