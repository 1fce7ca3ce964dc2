package openai

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"picobot/internal/llm"
	"picobot/internal/llm/endpoint"
)

// readStream takes a body through everything a stream goes through, the network
// and go-openai left out.
func readStream(body string) (llm.Response, string, error) {
	c := &call{stream: true}
	level, err := c.level(io.NopCloser(strings.NewReader(body)), New(Config{}).endpoint.WebPage)
	if err != nil {
		return llm.Response{}, "", err
	}
	lines := bufio.NewReader(level)
	var acc accumulator
	var deltas strings.Builder
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) || line == "data: [DONE]\n" {
			resp, err := acc.finish(true)
			return resp, deltas.String(), err
		}
		if err != nil {
			return llm.Response{}, "", err
		}
		chunk, err := decodeChunk([]byte(strings.TrimPrefix(line, "data: ")))
		if err != nil {
			return llm.Response{}, "", err
		}
		err = acc.add(chunk, func(d llm.Delta) {
			if d.Kind == llm.DeltaText {
				deltas.WriteString(d.Text)
			}
		})
		if err != nil {
			return llm.Response{}, "", err
		}
	}
}

func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},{\"function\":{\"name\":\"g\",\"arguments\":{\"x\":1}}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
		": ping\r\n\r\nevent: error\r\ndata: {\"message\":\"x\"}\r\n\r\n",
		"data: {\"error\":null,\"choices\":[]}\ndata: {\n\ndata: }\n",
		"{\"choices\":[{\"message\":{\"content\":[{\"text\":\"a\",\"thinking\":[{\"text\":\"b\"}]}]},\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":\"1\"}}",
		"{\"error\":{\"code\":429}}", "[{\"error\":{}}]", "<html>", "\xef\xbb\xbf{}", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		resp, deltas, err := readStream(body)
		if err != nil {
			if resp.Content != "" || resp.ToolCalls != nil {
				t.Fatalf("half an answer beside the error %v: %+v", err, resp)
			}
			if failed, ok := errors.AsType[*endpoint.Failure](err); ok && (failed.Kind == "" || failed.Message == "") {
				t.Fatalf("a failure that says nothing: %+v", failed)
			}
			return
		}
		if deltas != resp.Content {
			t.Fatalf("deltas %q are not the content %q", deltas, resp.Content)
		}
		seen := map[string]bool{}
		for _, call := range resp.ToolCalls {
			if call.ID == "" || call.Function.Name == "" || call.Function.Arguments == "" || seen[call.ID] {
				t.Fatalf("calls %+v", resp.ToolCalls)
			}
			seen[call.ID] = true
			if sent := validArguments(call.Function.Arguments); !json.Valid([]byte(sent)) {
				t.Fatalf("arguments %q would be sent back as %q", call.Function.Arguments, sent)
			}
		}
	})
}

func FuzzPatch(f *testing.F) {
	f.Add(`{"messages":[{"role":"user"}],"temperature":1}`, `null`)
	f.Add(`{"messages":null}`, `{"a":1}`)
	f.Fuzz(func(t *testing.T, body, extra string) {
		if !json.Valid([]byte(extra)) {
			return
		}
		out, err := patch{"temperature": json.RawMessage(extra)}.apply([]byte(body), true)
		if err == nil && !json.Valid(out) {
			t.Fatalf("%q became %q", body, out)
		}
	})
}
