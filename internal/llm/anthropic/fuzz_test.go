package anthropic

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/llm/endpoint"
)

// readStream takes a body through everything a stream goes through, the network
// left out.
func readStream(body string) (llm.Response, string, string, error) {
	webPage := func(int) *endpoint.Failure { return &endpoint.Failure{Kind: llm.KindBadRequest, Message: "page"} }
	level, err := (&call{}).level(io.NopCloser(strings.NewReader(body)), webPage)
	if err != nil {
		return llm.Response{}, "", "", err
	}
	decoder := ssestream.NewDecoder(&http.Response{Body: level, Header: http.Header{}})
	stream := ssestream.NewStream[json.RawMessage](decoder, nil)
	acc := accumulator{by: "anthropic m"}
	acc.begin()
	var text, thought strings.Builder
	for stream.Next() {
		err := acc.add(stream.Current(), func(d llm.Delta) {
			if d.Kind == llm.DeltaText {
				text.WriteString(d.Text)
			} else {
				thought.WriteString(d.Text)
			}
		})
		if err != nil {
			return llm.Response{}, "", "", err
		}
	}
	if err := stream.Err(); err != nil {
		return llm.Response{}, "", "", err
	}
	if !acc.finished() {
		return llm.Response{}, "", "", &endpoint.Failure{Kind: llm.KindIncomplete, Message: "early"}
	}
	if raw, err := json.Marshal(acc.paused()); err == nil && !json.Valid(raw) {
		return llm.Response{}, "", "", errors.New("a paused turn that is no JSON")
	}
	resp, err := acc.finish()
	return resp, text.String(), thought.String(), err
}

func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"s\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
		"data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{}}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"partial_json\":\"{\\\"a\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n",
		"data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"redacted_thinking\",\"data\":\"d\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"pause_turn\"}}\n\n",
		"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n",
		"{\"content\":[{\"type\":\"text\",\"text\":\"a\"},7,null],\"stop_reason\":\"max_tokens\",\"usage\":null}",
		"data: {\"type\":\"a\\nb\"}\n\n", "data: [DONE]\n\n", "<html>", "\xef\xbb\xbf{}", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		resp, said, thought, err := readStream(body)
		if err != nil {
			if resp.Content != "" || resp.ToolCalls != nil || resp.ReasoningContent != "" {
				t.Fatalf("half an answer beside the error %v: %+v", err, resp)
			}
			if failed, ok := errors.AsType[*endpoint.Failure](err); ok && (failed.Kind == "" || failed.Message == "") {
				t.Fatalf("a failure that says nothing: %+v", failed)
			}
			return
		}
		if said != resp.Content || thought != chat.ReasoningText(resp.ReasoningContent) {
			t.Fatalf("deltas %q and %q are not %+v", said, thought, resp)
		}
		seen := map[string]bool{}
		for _, c := range resp.ToolCalls {
			if c.ID == "" || c.Function.Name == "" || c.Function.Arguments == "" || seen[c.ID] {
				t.Fatalf("calls %+v", resp.ToolCalls)
			}
			seen[c.ID] = true
		}
		// Whatever it is, it can be sent back.
		m := llm.Message{Message: chat.Message{Role: chat.RoleAssistant, Content: resp.Content, ReasoningContent: resp.ReasoningContent, ToolCalls: resp.ToolCalls}}
		r := newRequest(llm.Request{Model: llm.Model{ID: "m"}, Messages: []llm.Message{m}}, form{})
		raw, err := json.Marshal(r.params)
		if err != nil || !json.Valid(raw) || !utf8.Valid(raw) {
			t.Fatalf("%+v cannot be sent back: %v", resp, err)
		}
	})
}
