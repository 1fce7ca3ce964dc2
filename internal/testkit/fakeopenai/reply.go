package fakeopenai

import (
	"encoding/json"
	"fmt"
	"net/http"

	"picobot/internal/testkit/scripted"
)

const created = 1700000000

// complete fills in what the test left out.
func (r Reply) complete(req Request) Reply {
	calls := make([]ToolCall, len(r.ToolCalls))
	for i, call := range r.ToolCalls {
		if call.ID == "" {
			call.ID = fmt.Sprintf("call_%d", i+1)
		}
		calls[i] = call
	}
	r.ToolCalls = calls
	if r.FinishReason == "" {
		r.FinishReason = "stop"
		if len(calls) > 0 {
			r.FinishReason = "tool_calls"
		}
	}
	if r.Usage == nil {
		written := len(r.Text) + len(r.Reasoning)
		for _, call := range calls {
			written += len(call.Name) + len(call.Arguments)
		}
		r.Usage = &Usage{Prompt: len(req.Raw)/4 + 1, Completion: written/4 + 1}
	}
	return r
}

func (u Usage) wire() object {
	return object{"prompt_tokens": u.Prompt, "completion_tokens": u.Completion, "total_tokens": u.Prompt + u.Completion,
		"prompt_tokens_details":     object{"cached_tokens": u.Cached, "audio_tokens": 0},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning, "audio_tokens": 0}}
}

func (x *exchange) head(kind string) object {
	head := object{"id": "chatcmpl-fake", "object": kind, "created": created, "model": x.req.Model}
	if x.quirks.FloatCreated {
		head["created"] = created + 0.5
	}
	return head
}

func (x *exchange) reasoningField() string {
	if x.quirks.ReasoningField != "" {
		return x.quirks.ReasoningField
	}
	return "reasoning_content"
}

func (x *exchange) arguments(text string) any {
	if x.quirks.ObjectArguments && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

func (x *exchange) finish(reason string) any {
	if x.quirks.NoFinishReason {
		return nil
	}
	return reason
}

// completion is the reply to a request without streaming.
func (x *exchange) completion(r Reply) object {
	message := object{"role": "assistant", "content": r.Text}
	if r.Text == "" && len(r.ToolCalls) > 0 {
		message["content"] = nil
	}
	if r.Reasoning != "" {
		message[x.reasoningField()] = r.Reasoning
	}
	var calls []object
	for _, call := range r.ToolCalls {
		c := object{"type": "function", "function": object{"name": call.Name, "arguments": x.arguments(call.Arguments)}}
		if !x.quirks.NoCallIDs {
			c["id"] = call.ID
		}
		calls = append(calls, c)
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	reply := x.head("chat.completion")
	reply["choices"] = []object{{"index": 0, "message": message, "finish_reason": x.finish(r.FinishReason)}}
	if !x.quirks.NoUsage {
		reply["usage"] = r.Usage.wire()
	}
	return reply
}

// chunks is the same reply in pieces.
func (x *exchange) chunks(r Reply) []object {
	var chunks []object
	add := func(delta object) {
		chunk := x.head("chat.completion.chunk")
		chunk["choices"] = []object{{"index": 0, "delta": delta, "finish_reason": nil}}
		chunks = append(chunks, chunk)
	}
	add(object{"role": "assistant", "content": ""})
	for _, piece := range scripted.Pieces(r.Reasoning, x.server.config.TextPiece) {
		add(object{x.reasoningField(): piece})
	}
	for _, piece := range scripted.Pieces(r.Text, x.server.config.TextPiece) {
		add(object{"content": piece})
	}
	for _, calls := range x.callDeltas(r.ToolCalls) {
		add(object{"tool_calls": calls})
	}
	times := 1
	if x.quirks.TwoFinishReasons {
		times = 2
	}
	for range times {
		add(object{})
		last := chunks[len(chunks)-1]
		last["choices"].([]object)[0]["finish_reason"] = x.finish(r.FinishReason)
		if x.quirks.UsageInFinish && !x.quirks.NoUsage {
			last["usage"] = r.Usage.wire()
		}
	}
	if x.usageAsked() && !x.quirks.NoUsage && !x.quirks.UsageInFinish {
		chunk := x.head("chat.completion.chunk")
		chunk["choices"] = []object{}
		chunk["usage"] = r.Usage.wire()
		chunks = append(chunks, chunk)
	}
	return chunks
}

func (x *exchange) usageAsked() bool {
	var options struct {
		IncludeUsage bool `json:"include_usage"`
	}
	// Absent or of another shape means not asked for.
	_ = json.Unmarshal(x.req.Fields["stream_options"], &options)
	return options.IncludeUsage
}

// callDeltas returns the tool_calls arrays to send, one per chunk.
func (x *exchange) callDeltas(calls []ToolCall) [][]object {
	header := func(i int, call ToolCall, arguments any) object {
		c := object{"type": "function", "function": object{"name": call.Name, "arguments": arguments}}
		if !x.quirks.NoCallIDs {
			c["id"] = call.ID
		}
		x.setIndex(c, i)
		return c
	}
	var deltas [][]object
	if x.quirks.OneDelta || x.quirks.ObjectArguments {
		var all []object
		for i, call := range calls {
			all = append(all, header(i, call, x.arguments(call.Arguments)))
		}
		if all != nil {
			deltas = append(deltas, all)
		}
		return deltas
	}
	for i, call := range calls {
		deltas = append(deltas, []object{header(i, call, "")})
		for _, piece := range scripted.Pieces(call.Arguments, x.server.config.ArgsPiece) {
			c := object{"function": object{"arguments": piece}}
			if x.quirks.RepeatHeader {
				c = header(i, call, piece)
			}
			x.setIndex(c, i)
			deltas = append(deltas, []object{c})
		}
	}
	return deltas
}

func (x *exchange) setIndex(call object, i int) {
	switch {
	case x.quirks.NoIndex:
	case x.quirks.ZeroIndex:
		call["index"] = 0
	default:
		call["index"] = i
	}
}

// stream sends the chunks as server-sent events.
func (x *exchange) stream(r Reply) {
	newline := "\n"
	if x.quirks.CRLF {
		newline = "\r\n"
	}
	x.w.Header().Set("Content-Type", "text/event-stream")
	x.w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(x.w).Flush
	send := func(line string) bool {
		_, err := fmt.Fprint(x.w, line+newline+newline)
		return err == nil && flush() == nil
	}
	for i, chunk := range x.chunks(r) {
		if x.hold != nil && i == x.holdAfter && !x.hold() {
			return
		}
		if x.cut != nil && i == x.cutAfter {
			x.cut()
			return
		}
		if !x.server.Sleep(x.r, r.ChunkDelay) {
			return
		}
		if x.quirks.Comments && !send(": OPENROUTER PROCESSING") {
			return
		}
		data, err := json.Marshal(chunk)
		if err != nil || !send("data: "+string(data)) {
			return
		}
	}
	if !x.quirks.NoDone {
		send("data: [DONE]")
	}
}

// sendEvent sends one more event.
func (x *exchange) sendEvent(event object) {
	if data, err := json.Marshal(event); err == nil {
		_, _ = fmt.Fprintf(x.w, "data: %s\n\n", data) // whoever left needs no error
	}
}
