package anthropic

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go/option"

	"picobot/internal/llm"
	"picobot/internal/llm/endpoint"
)

// call is what the wire layer must know of the model call a request belongs to.
type call struct {
	attempt *endpoint.Attempt
	patch   map[string]json.RawMessage
	plain   bool // no model call: any reply that is a success will do
}

type callKey struct{}

func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// wire is the HTTP layer below the SDK. What goes up is always a stream of named
// events; everything else comes up as a *endpoint.Failure, or as the transport's
// error.
type wire struct{ *endpoint.Endpoint }

var _ option.HTTPClient = wire{}

// Do carries one request for the SDK.
func (w wire) Do(req *http.Request) (*http.Response, error) {
	c, ok := req.Context().Value(callKey{}).(*call)
	if !ok {
		return nil, errors.New("anthropic: request outside of a call")
	}
	if len(c.patch) > 0 {
		if err := c.rewrite(req); err != nil {
			return nil, &endpoint.Failure{Kind: llm.KindBadRequest, Message: err.Error()}
		}
	}
	resp, err := w.Send(req)
	if err != nil {
		return nil, err
	}
	if c.plain {
		return w.plain(resp)
	}
	level, err := c.level(resp.Body, w.WebPage)
	if err != nil {
		_ = resp.Body.Close() // the error above is the one that counts
		return nil, err
	}
	resp.Body = level
	// The SDK picks its decoder by it.
	resp.Header.Set("Content-Type", "text/event-stream")
	return resp, nil
}

// rewrite merges the model's extra fields into the body.
func (c *call) rewrite(req *http.Request) error {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return fmt.Errorf("read request body: %w", err)
	}
	patch := map[string]json.RawMessage{}
	for name, value := range c.patch {
		patch[name] = value
	}
	if own, ok := patch["output_config"]; ok {
		if patch["output_config"], err = mergeOutput(body, own); err != nil {
			return err
		}
	}
	if body, err = endpoint.Merge(body, patch); err != nil {
		return err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.ContentLength = int64(len(body))
	return nil
}

// mergeOutput keeps the format that was asked for beside the effort that is
// configured.
func mergeOutput(body []byte, own json.RawMessage) (json.RawMessage, error) {
	var sent struct {
		OutputConfig map[string]json.RawMessage `json:"output_config"`
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		return nil, fmt.Errorf("read request body: %w", err)
	}
	if len(sent.OutputConfig) == 0 || bytes.Equal(bytes.TrimSpace(own), []byte("null")) {
		return own, nil
	}
	return endpoint.Merge(own, sent.OutputConfig)
}

// plain returns a reply to a ping: JSON that is no error.
func (w wire) plain(resp *http.Response) (*http.Response, error) {
	defer func() { _ = resp.Body.Close() }() // read, or not wanted
	text, err := io.ReadAll(endpoint.Bounded(resp.Body, endpoint.MaxReplyBytes))
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) {
		return nil, w.WebPage(resp.StatusCode)
	}
	if f := endpoint.InlineFailure(text, false); f != nil {
		return nil, f
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return resp, nil
}

// level turns a reply into the events that the SDK reads.
func (c *call) level(body io.ReadCloser, webPage func(status int) *endpoint.Failure) (io.ReadCloser, error) {
	r := bufio.NewReader(endpoint.Bounded(body, endpoint.MaxStreamBytes))
	first, err := endpoint.FirstByte(r)
	switch {
	case errors.Is(err, io.EOF):
		return nil, &endpoint.Failure{Kind: llm.KindIncomplete, Message: "the endpoint sent an empty answer"}
	case err != nil:
		return nil, err
	case first == '<':
		return nil, webPage(http.StatusOK)
	case first == '{' || first == '[':
		return levelJSON(r, body)
	}
	return endpoint.NewEvents(r, body, c.attempt, endpoint.EventFormat{Write: writeEvent, Last: isLast}), nil
}

// writeEvent writes an event with its name, without which the SDK skips it.
func writeEvent(out *bytes.Buffer, event []byte) {
	name := typeOf(event)
	if name == "" {
		return // [DONE], or nothing that this API knows
	}
	out.WriteString("event: " + name + "\ndata: ")
	out.Write(event)
	out.WriteString("\n\n")
}

func isLast(event []byte) bool { return typeOf(event) == "message_stop" }

func typeOf(event []byte) string {
	var e struct {
		Type endpoint.Text `json:"type"`
	}
	if json.Unmarshal(event, &e) != nil || bytes.ContainsAny([]byte(e.Type), "\r\n") {
		return ""
	}
	return string(e.Type)
}

// levelJSON turns a whole message, which some compatible servers send whatever they
// are asked for, into events.
func levelJSON(r io.Reader, body io.Closer) (io.ReadCloser, error) {
	raw, err := io.ReadAll(endpoint.Bounded(r, endpoint.MaxReplyBytes))
	if err != nil {
		return nil, err
	}
	if f := endpoint.InlineFailure(raw, false); f != nil {
		return nil, f
	}
	var m struct {
		Content    []json.RawMessage `json:"content"`
		StopReason json.RawMessage   `json:"stop_reason"`
		Details    json.RawMessage   `json:"stop_details"`
		Usage      json.RawMessage   `json:"usage"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return nil, endpoint.NotJSON()
	}
	if m.Content == nil && m.StopReason == nil {
		if f := endpoint.InlineFailure(raw, true); f != nil {
			return nil, f
		}
		return nil, &endpoint.Failure{Kind: llm.KindServer, Message: "the endpoint sent an answer without content"}
	}
	var out bytes.Buffer
	write := func(event map[string]any) error {
		text, err := json.Marshal(event)
		if err != nil {
			return endpoint.NotJSON()
		}
		writeEvent(&out, text)
		return nil
	}
	events := []map[string]any{{"type": "message_start", "message": map[string]any{}}}
	for i, block := range m.Content {
		events = append(events, map[string]any{"type": "content_block_start", "index": i, "content_block": block},
			map[string]any{"type": "content_block_stop", "index": i})
	}
	events = append(events, map[string]any{"type": "message_delta", "usage": m.Usage, "delta": map[string]any{"stop_reason": m.StopReason, "stop_details": m.Details}},
		map[string]any{"type": "message_stop"})
	for _, e := range events {
		if err := write(e); err != nil {
			return nil, err
		}
	}
	return struct {
		io.Reader
		io.Closer
	}{&out, body}, nil
}
