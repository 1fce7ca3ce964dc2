package anthropic

import (
	"encoding/json"
	"errors"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/llm/endpoint"
)

// Bounds of one answer: what is beyond them is a runaway, not an answer.
const (
	maxEventBytes = 128 << 20
	maxBlocks     = 4096
)

type (
	text   = endpoint.Text
	number = endpoint.Number
)

// event is one event of a stream, read as generously as can be: a field of a type
// that nobody expects is an empty field, never a lost answer.
type event struct {
	Type    text   `json:"type"`
	Index   number `json:"index"`
	Message struct {
		Usage usage `json:"usage"`
	} `json:"message"`
	Block json.RawMessage `json:"content_block"`
	Delta struct {
		Type      text `json:"type"`
		Text      text `json:"text"`
		Partial   text `json:"partial_json"`
		Thinking  text `json:"thinking"`
		Signature text `json:"signature"`
		Reason    text `json:"stop_reason"`
		Details   struct {
			Category    text `json:"category"`
			Explanation text `json:"explanation"`
		} `json:"stop_details"`
	} `json:"delta"`
	Usage usage `json:"usage"`
}

// usage counts everything so far. What was read from the cache or written to it is
// not in input_tokens; thoughts are in output_tokens.
type usage struct {
	Input      number `json:"input_tokens"`
	CacheRead  number `json:"cache_read_input_tokens"`
	CacheWrite number `json:"cache_creation_input_tokens"`
	Output     number `json:"output_tokens"`
	Details    struct {
		Thinking number `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// max is the larger count of each: a later event may leave some out.
func (u usage) max(o usage) usage {
	out := usage{Input: max(u.Input, o.Input), CacheRead: max(u.CacheRead, o.CacheRead), CacheWrite: max(u.CacheWrite, o.CacheWrite), Output: max(u.Output, o.Output)}
	out.Details.Thinking = max(u.Details.Thinking, o.Details.Thinking)
	return out
}

// total counts a prompt's tokens wherever they came from. Those that were written to
// the cache were read by the model all the same, so only those read from it are cached.
func (u usage) total() chat.Usage {
	return chat.Usage{
		PromptTokens:     int64(u.Input + u.CacheRead + u.CacheWrite),
		CompletionTokens: int64(u.Output),
		CachedTokens:     int64(u.CacheRead),
		ReasoningTokens:  int64(u.Details.Thinking),
	}
}

// block is a block of the answer that is being written.
type block struct {
	index     number
	kind      string
	start     json.RawMessage // as it came
	id, name  string          // of a call
	data      string          // of a redacted thought
	text      strings.Builder // of a text or a thought
	signature strings.Builder
	input     strings.Builder // of a call, as it was written
}

// accumulator puts an answer together from its events, over several messages when
// the model paused.
type accumulator struct {
	by      string // who signs the thoughts
	blocks  []*block
	first   int // of the present message
	reason  string
	refusal string
	usage   usage      // of the present message
	before  chat.Usage // of those before it
	size    int        // bytes of events so far
	thought bool       // a thought was shown
}

// begin starts the next message.
func (a *accumulator) begin() {
	a.before = a.before.Add(a.usage.total())
	a.first, a.reason, a.usage = len(a.blocks), "", usage{}
}

// finished reports that the endpoint said why the message ends.
func (a *accumulator) finished() bool { return a.reason != "" }

// add takes one event and reports what it adds to the visible answer.
func (a *accumulator) add(raw []byte, onDelta func(llm.Delta)) error {
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		// A value of another type is skipped, and everything else is read.
		if _, skipped := errors.AsType[*json.UnmarshalTypeError](err); !skipped {
			return endpoint.NotJSON()
		}
	}
	a.size += len(raw)
	switch e.Type {
	case "message_start":
		a.usage = a.usage.max(e.Message.Usage)
	case "content_block_start":
		a.start(e, onDelta)
	case "content_block_delta":
		b := a.find(e.Index)
		if b == nil {
			return &endpoint.Failure{Kind: llm.KindServer, Message: "the endpoint sent a piece of a block that it did not begin"}
		}
		a.say(b, string(e.Delta.Text), string(e.Delta.Thinking), onDelta)
		b.signature.WriteString(string(e.Delta.Signature))
		b.input.WriteString(string(e.Delta.Partial))
	case "message_delta":
		a.usage = a.usage.max(e.Usage)
		if e.Delta.Reason != "" {
			a.reason = string(e.Delta.Reason)
		}
		if d := e.Delta.Details; d.Explanation != "" {
			a.refusal = string(d.Explanation)
		} else if d.Category != "" {
			a.refusal = "category " + string(d.Category)
		}
	}
	if a.size > maxEventBytes || len(a.blocks) > maxBlocks {
		return endpoint.TooLarge()
	}
	return nil
}

func (a *accumulator) start(e event, onDelta func(llm.Delta)) {
	var head struct {
		Type      text            `json:"type"`
		ID        text            `json:"id"`
		Name      text            `json:"name"`
		Data      text            `json:"data"`
		Text      text            `json:"text"`
		Thinking  text            `json:"thinking"`
		Signature text            `json:"signature"`
		Input     json.RawMessage `json:"input"`
	}
	// What is no object is a block of no kind, which says nothing.
	_ = json.Unmarshal(e.Block, &head)
	b := &block{index: e.Index, kind: string(head.Type), start: e.Block, id: string(head.ID), name: string(head.Name), data: string(head.Data)}
	a.blocks = append(a.blocks, b)
	b.signature.WriteString(string(head.Signature))
	if input := strings.TrimSpace(string(head.Input)); input != "" && input != "{}" && input != "null" && b.kind == "tool_use" {
		b.input.WriteString(input) // compatible servers send it whole
	}
	a.say(b, string(head.Text), string(head.Thinking), onDelta)
}

// say adds to a block what people can read.
func (a *accumulator) say(b *block, said, thought string, onDelta func(llm.Delta)) {
	if said != "" && b.kind == "text" {
		b.text.WriteString(said)
		onDelta(llm.Delta{Kind: llm.DeltaText, Text: said})
	}
	if thought != "" && b.kind == "thinking" {
		shown := thought
		if b.text.Len() == 0 && a.thought {
			shown = "\n\n" + thought // as chat.Reasoning.Text sets thoughts apart
		}
		a.thought = true
		b.text.WriteString(thought)
		onDelta(llm.Delta{Kind: llm.DeltaReasoning, Text: shown})
	}
}

// find returns the block of the present message that an index names.
func (a *accumulator) find(index number) *block {
	for i := len(a.blocks) - 1; i >= a.first; i-- {
		if a.blocks[i].index == index {
			return a.blocks[i]
		}
	}
	return nil
}

// failed returns an error with what it cost.
func (a *accumulator) failed(err error) (llm.Response, error) {
	return llm.Response{Usage: a.spent()}, err
}

// spent is the usage of all messages so far.
func (a *accumulator) spent() chat.Usage { return a.before.Add(a.usage.total()) }

// finish returns the answer.
func (a *accumulator) finish() (llm.Response, error) {
	resp := llm.Response{Usage: a.spent()}
	var content strings.Builder
	for _, b := range a.blocks {
		if b.kind == "text" {
			content.WriteString(b.text.String())
		}
	}
	resp.Content = content.String()
	var err error
	if resp.ToolCalls, err = a.calls(); err != nil {
		return a.failed(err)
	}
	resp.ReasoningContent = a.reasoning()
	switch sdk.StopReason(a.reason) {
	case sdk.StopReasonMaxTokens:
		resp.Stop = llm.StopLength
	case sdk.StopReasonRefusal:
		if strings.TrimSpace(resp.Content) == "" {
			message := "the model refused to answer"
			if a.refusal != "" {
				message += ": " + a.refusal
			}
			return a.failed(&endpoint.Failure{Kind: llm.KindContentFiltered, Message: message})
		}
		resp.Stop, resp.ToolCalls = llm.StopContentFilter, nil
	case sdk.StopReasonModelContextWindowExceeded:
		return a.failed(&endpoint.Failure{Kind: llm.KindContextTooLarge, Message: "the conversation is too long for the model"})
	default:
		resp.Stop = llm.StopEnd
		if len(resp.ToolCalls) > 0 {
			resp.Stop = llm.StopToolCalls
		}
	}
	return resp, nil
}

func (a *accumulator) calls() ([]chat.ToolCall, error) {
	var calls []chat.ToolCall
	var ids []string
	for _, b := range a.blocks {
		if b.kind != "tool_use" {
			continue
		}
		if b.name == "" {
			return nil, &endpoint.Failure{Kind: llm.KindServer, Message: "the endpoint sent a tool call without a name"}
		}
		arguments := b.input.String()
		if strings.TrimSpace(arguments) == "" {
			arguments = "{}"
		}
		ids = append(ids, b.id)
		calls = append(calls, chat.NewToolCall("", b.name, arguments))
	}
	for i, id := range llm.UniqueIDs(ids) {
		calls[i].ID = id
	}
	return calls, nil
}

// reasoning returns the thoughts, with marks for what of the answer stood between
// them: only where it was does the API take a thought back.
func (a *accumulator) reasoning() string {
	r := chat.Reasoning{By: a.by}
	thoughts := 0 // the length of blocks up to and with the last thought
	mark := func(b chat.ReasoningBlock) {
		if n := len(r.Blocks); n > 0 && b.Said > 0 && r.Blocks[n-1].Said > 0 {
			r.Blocks[n-1].Said += b.Said
		} else if n > 0 && b.Calls > 0 && r.Blocks[n-1].Calls > 0 {
			r.Blocks[n-1].Calls += b.Calls
		} else {
			r.Blocks = append(r.Blocks, b)
		}
	}
	for _, b := range a.blocks {
		switch b.kind {
		case "text":
			if n := b.text.Len(); n > 0 {
				mark(chat.ReasoningBlock{Said: n})
			}
		case "tool_use":
			mark(chat.ReasoningBlock{Calls: 1})
		case "thinking":
			if b.text.Len() > 0 || b.signature.Len() > 0 {
				r.Blocks = append(r.Blocks, chat.ReasoningBlock{Text: b.text.String(), Signature: b.signature.String()})
				thoughts = len(r.Blocks)
			}
		case "redacted_thinking":
			r.Blocks = append(r.Blocks, chat.ReasoningBlock{Redacted: b.data})
			thoughts = len(r.Blocks)
		}
	}
	if thoughts == 0 {
		return ""
	}
	// Text and then calls behind the last thought is what is put there anyway.
	if rest := r.Blocks[thoughts:]; len(rest) < 2 || (len(rest) == 2 && rest[0].Said > 0) {
		r.Blocks = r.Blocks[:thoughts]
	}
	return r.Stored()
}

// paused returns everything the model has said so far as the message that goes back
// to it, blocks of the server's own tools included.
func (a *accumulator) paused() sdk.MessageParam {
	var blocks []sdk.ContentBlockParamUnion
	for _, b := range a.blocks {
		switch b.kind {
		case "text":
			if strings.TrimSpace(b.text.String()) != "" {
				blocks = append(blocks, sdk.NewTextBlock(b.text.String()))
			}
		case "thinking":
			blocks = append(blocks, sdk.NewThinkingBlock(b.signature.String(), b.text.String()))
		case "redacted_thinking":
			blocks = append(blocks, sdk.NewRedactedThinkingBlock(b.data))
		default:
			blocks = append(blocks, param.Override[sdk.ContentBlockParamUnion](b.whole()))
		}
	}
	return sdk.NewAssistantMessage(blocks...)
}

// whole is a block as it came, with the input that came after it.
func (b *block) whole() json.RawMessage {
	if b.input.Len() == 0 {
		return b.start
	}
	whole, err := endpoint.Merge(b.start, map[string]json.RawMessage{"input": json.RawMessage(chat.StoredArguments(b.input.String()))})
	if err != nil {
		return b.start
	}
	return whole
}
