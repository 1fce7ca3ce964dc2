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
	"net/url"
	"strings"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"picobot/internal/llm"
)

const (
	maxReplyBytes  = 32 << 20  // of a whole reply, or of one event
	maxStreamBytes = 256 << 20 // of a stream: most of it is framing
	maxErrorBytes  = 64 << 10  // read of an error reply; far less of it is kept
)

// call is what the wire layer must know of the model call a request belongs to.
type call struct {
	attempt *attempt
	patch   patch
	stream  bool
}

type callKey struct{}

func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// wire is the HTTP layer below go-openai. What goes up is always a plain OpenAI
// reply; everything else comes up as a *failure, or as the transport's error.
type wire struct {
	client  *http.Client
	headers map[string]string
	now     func() time.Time
}

var _ goopenai.HTTPDoer = (*wire)(nil)

func newWire(config Config) *wire {
	return &wire{client: config.HTTPClient, headers: config.Headers, now: config.Now}
}

// Do carries one chat completion for go-openai.
func (w *wire) Do(req *http.Request) (*http.Response, error) {
	c, ok := req.Context().Value(callKey{}).(*call)
	if !ok {
		return nil, errors.New("openai: request outside of a call")
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, fmt.Errorf("read request body: %w", err)
	}
	if body, err = c.patch.apply(body); err != nil {
		return nil, &failure{kind: llm.KindBadRequest, message: err.Error()}
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.ContentLength = int64(len(body))
	resp, err := w.send(req)
	if err != nil {
		return nil, err
	}
	level, err := c.level(resp.Body)
	if err != nil {
		_ = resp.Body.Close() // the error above is the one that counts
		return nil, err
	}
	resp.Body = level
	return resp, nil
}

// send sends a request and returns its reply if that is a success and does not
// call itself a web page.
func (w *wire) send(req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", "picobot")
	for name, value := range w.headers {
		if strings.EqualFold(name, "Host") {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		// The outer error repeats the address, which may hold a secret.
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err
		}
		return nil, err
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		if isHTML(resp.Header.Get("Content-Type"), nil) {
			_ = resp.Body.Close()
			return nil, htmlFailure(resp.StatusCode)
		}
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	// What could be read is judged; that the rest could not adds nothing.
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
	f := failureOf(resp.StatusCode, resp.Header.Get("Content-Type"), text)
	f.retryAfter = retryAfter(resp.Header, w.now())
	return nil, f
}

// bounded reads up to a limit and fails beyond it.
type bounded struct {
	source io.Reader
	left   int
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.source.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, tooLarge()
	}
	return n, err
}

func tooLarge() *failure {
	return &failure{kind: llm.KindServer, message: "the answer is too large"}
}

// level turns a reply into what go-openai expects for this call. What the reply is
// shows in its first byte; content types are not reliable.
func (c *call) level(body io.ReadCloser) (io.ReadCloser, error) {
	r := bufio.NewReader(&bounded{source: body, left: maxStreamBytes})
	first, err := firstByte(r)
	switch {
	case errors.Is(err, io.EOF):
		return nil, &failure{kind: llm.KindIncomplete, message: "the endpoint sent an empty answer"}
	case err != nil:
		return nil, err
	case first == '<':
		return nil, htmlFailure(http.StatusOK)
	case first == '{' || first == '[':
		return c.levelJSON(r, body)
	case !c.stream:
		return nil, &failure{kind: llm.KindBadRequest, message: "the endpoint streams although it was not asked to: set stream to true for this model"}
	}
	return &eventBody{source: r, closer: body, attempt: c.attempt}, nil
}

func firstByte(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		// A byte-order mark is white space here.
		if !strings.ContainsRune(" \t\r\n\xef\xbb\xbf", rune(b)) && b != 0xef && b != 0xbb && b != 0xbf {
			return b, r.UnreadByte()
		}
	}
}

func (c *call) levelJSON(r io.Reader, body io.Closer) (io.ReadCloser, error) {
	raw, err := io.ReadAll(&bounded{source: r, left: maxReplyBytes})
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
			return nil, notJSON()
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
