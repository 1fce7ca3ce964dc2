package fakeanthropic

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"picobot/internal/testkit/scripted"
)

// Sign is the signature of a thought of a model: only who thought it can make it.
func Sign(model, thought string) string {
	sum := sha256.Sum256([]byte("the secret of this server\x00" + model + "\x00" + thought))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// complete fills in what the test left out.
func (r Reply) complete(req Request) Reply {
	if r.JSON != "" {
		if slices.Contains([]string{"", "auto", "none", "any"}, req.ToolChoice) {
			r.Text = r.JSON
		} else {
			r.ToolCalls = []ToolCall{{Name: req.ToolChoice, Input: r.JSON}}
		}
	}
	if r.Blocks == nil {
		if r.Thinking != "" {
			r.Blocks = append(r.Blocks, Block{Type: "thinking", Text: r.Thinking})
		}
		if r.Redacted != "" {
			r.Blocks = append(r.Blocks, Block{Type: "redacted_thinking", Data: r.Redacted})
		}
		if r.Text != "" {
			r.Blocks = append(r.Blocks, Block{Type: "text", Text: r.Text})
		}
		for _, c := range r.ToolCalls {
			r.Blocks = append(r.Blocks, Block{Type: "tool_use", ID: c.ID, Name: c.Name, Input: c.Input})
		}
	}
	blocks := make([]Block, len(r.Blocks))
	written, calls := 0, 0
	for i, b := range r.Blocks {
		switch b.Type {
		case "thinking":
			if b.Signature == "" {
				b.Signature = Sign(req.Model, b.Text)
			}
		case "redacted_thinking":
			b.Data = "encrypted " + b.Data + " " + Sign(req.Model, b.Data)
		case "tool_use":
			calls++
			if b.ID == "" {
				b.ID = fmt.Sprintf("toolu_%d", calls)
			}
		}
		blocks[i] = b
		written += len(b.Text) + len(b.Input)
	}
	r.Blocks = blocks
	if r.StopReason == "" {
		r.StopReason = "end_turn"
		if calls > 0 {
			r.StopReason = "tool_use"
		}
	}
	if r.Usage == nil {
		r.Usage = &Usage{Input: len(req.Raw)/4 + 1, CacheRead: req.CacheRead, CacheWrite: req.CacheWritten, Output: written/4 + 1}
	}
	return r
}

func (b Block) wire() object {
	if b.Raw != "" {
		var raw object
		_ = json.Unmarshal([]byte(b.Raw), &raw) // a test's own text
		return raw
	}
	switch b.Type {
	case "thinking":
		return object{"type": b.Type, "thinking": b.Text, "signature": b.Signature}
	case "redacted_thinking":
		return object{"type": b.Type, "data": b.Data}
	case "tool_use":
		input := json.RawMessage(b.Input)
		if !json.Valid(input) {
			input = json.RawMessage("{}")
		}
		return object{"type": b.Type, "id": b.ID, "name": b.Name, "input": input}
	}
	return object{"type": "text", "text": b.Text}
}

func (u Usage) wire() object {
	return object{"input_tokens": u.Input, "cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite, "output_tokens": u.Output,
		"output_tokens_details": object{"thinking_tokens": u.Thinking}, "service_tier": "standard"}
}

func (r Reply) details() any {
	if r.Refusal == "" {
		return nil
	}
	return object{"type": "refusal", "category": "cyber", "explanation": r.Refusal}
}

// message is the reply to a request without streaming.
func (x *exchange) message(r Reply) object {
	content := []object{}
	for _, b := range r.Blocks {
		content = append(content, b.wire())
	}
	return object{"id": "msg_fake", "type": "message", "role": "assistant", "model": x.req.Model, "content": content,
		"stop_reason": r.StopReason, "stop_sequence": nil, "stop_details": r.details(), "usage": r.Usage.wire()}
}

type event struct {
	name string
	data object
}

// events is the same reply as the stream that it comes in.
func (x *exchange) events(r Reply) []event {
	start := x.message(r)
	start["content"], start["stop_reason"], start["stop_details"] = []object{}, nil, nil
	begun := *r.Usage
	begun.Output, begun.Thinking = 1, 0
	start["usage"] = begun.wire()
	out := []event{{"message_start", object{"type": "message_start", "message": start}}}
	for i, b := range r.Blocks {
		head := b.wire()
		var deltas []object
		switch {
		case b.Raw != "":
		case b.Type == "thinking":
			head["thinking"], head["signature"] = "", ""
			for _, p := range scripted.Pieces(b.Text, x.server.config.TextPiece) {
				deltas = append(deltas, object{"type": "thinking_delta", "thinking": p})
			}
			deltas = append(deltas, object{"type": "signature_delta", "signature": b.Signature})
		case b.Type == "tool_use":
			head["input"] = object{}
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": ""})
			for _, p := range scripted.Pieces(b.Input, x.server.config.TextPiece) {
				deltas = append(deltas, object{"type": "input_json_delta", "partial_json": p})
			}
		case b.Type == "text":
			head["text"] = ""
			for _, p := range scripted.Pieces(b.Text, x.server.config.TextPiece) {
				deltas = append(deltas, object{"type": "text_delta", "text": p})
			}
		}
		out = append(out, event{"content_block_start", object{"type": "content_block_start", "index": i, "content_block": head}})
		if i == 0 {
			out = append(out, event{"ping", object{"type": "ping"}})
		}
		for _, d := range deltas {
			out = append(out, event{"content_block_delta", object{"type": "content_block_delta", "index": i, "delta": d}})
		}
		out = append(out, event{"content_block_stop", object{"type": "content_block_stop", "index": i}})
	}
	end := r.Usage.wire()
	out = append(out, event{"message_delta", object{"type": "message_delta", "usage": end,
		"delta": object{"stop_reason": r.StopReason, "stop_sequence": nil, "stop_details": r.details()}}})
	if !x.server.config.NoEnd {
		out = append(out, event{"message_stop", object{"type": "message_stop"}})
	}
	return out
}

// stream sends the events.
func (x *exchange) stream(r Reply) {
	x.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	x.w.Header().Set("Request-Id", requestID)
	x.w.WriteHeader(http.StatusOK)
	for i, e := range x.events(r) {
		if x.stop != nil && i == x.stopAfter && !x.stop() {
			return
		}
		if !x.server.Sleep(x.r, r.ChunkDelay) || !x.send(e.name, e.data) {
			return
		}
	}
}

func (x *exchange) send(name string, data object) bool {
	text, err := json.Marshal(data)
	if err != nil {
		return false
	}
	if !x.server.config.Bare {
		name = "event: " + name + "\n"
	} else {
		name = ""
	}
	_, err = fmt.Fprintf(x.w, "%sdata: %s\n\n", name, text)
	return err == nil && http.NewResponseController(x.w).Flush() == nil
}
