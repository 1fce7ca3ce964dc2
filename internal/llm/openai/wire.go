package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	goopenai "github.com/sashabaranov/go-openai"

	"picobot/internal/llm"
	"picobot/internal/llm/endpoint"
)

// call is what the wire layer must know of the model call a request belongs to.
type call struct {
	attempt *endpoint.Attempt
	patch   patch
	echo    bool
	stream  bool
}

type callKey struct{}

func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// wire is the HTTP layer below go-openai. What goes up is always a plain OpenAI
// reply; everything else comes up as a *endpoint.Failure, or as the transport's
// error.
type wire struct{ *endpoint.Endpoint }

var _ goopenai.HTTPDoer = wire{}

// Do carries one chat completion for go-openai.
func (w wire) Do(req *http.Request) (*http.Response, error) {
	c, ok := req.Context().Value(callKey{}).(*call)
	if !ok {
		return nil, errors.New("openai: request outside of a call")
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, fmt.Errorf("read request body: %w", err)
	}
	if body, err = c.patch.apply(body, c.echo); err != nil {
		return nil, &endpoint.Failure{Kind: llm.KindBadRequest, Message: err.Error()}
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.ContentLength = int64(len(body))
	resp, err := w.Send(req)
	if err != nil {
		return nil, err
	}
	level, err := c.level(resp.Body, w.WebPage)
	if err != nil {
		_ = resp.Body.Close() // the error above is the one that counts
		return nil, err
	}
	resp.Body = level
	return resp, nil
}

// level turns a reply into what go-openai expects for this call.
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
		return c.levelJSON(r, body)
	case !c.stream:
		return nil, &endpoint.Failure{Kind: llm.KindBadRequest, Message: "the endpoint streams although it was not asked to: set stream to true for this model"}
	}
	return endpoint.NewEvents(r, body, c.attempt, endpoint.EventFormat{Write: writeEvent}), nil
}

// writeEvent writes an event the way go-openai reads one: a line, and nothing else.
func writeEvent(out *bytes.Buffer, event []byte) {
	out.WriteString("data: ")
	// go-openai takes any event that starts so for an error, "error":null included.
	if bytes.HasPrefix(event, []byte(`{"error":`)) {
		out.WriteString("{ ")
		event = event[1:]
	}
	out.Write(event)
	out.WriteByte('\n')
}

func (c *call) levelJSON(r io.Reader, body io.Closer) (io.ReadCloser, error) {
	raw, err := io.ReadAll(endpoint.Bounded(r, endpoint.MaxReplyBytes))
	if err != nil {
		return nil, err
	}
	reply, err := decodeReply(raw)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if c.stream {
		// A whole answer to a call that asked for a stream is a stream of one chunk.
		out.WriteString("data: ")
		if err := json.Compact(&out, raw); err != nil {
			return nil, endpoint.NotJSON()
		}
		out.WriteString("\ndata: [DONE]\n")
	} else if err := json.NewEncoder(&out).Encode(reply.completion()); err != nil {
		return nil, fmt.Errorf("write levelled reply: %w", err)
	}
	return struct {
		io.Reader
		io.Closer
	}{&out, body}, nil
}
