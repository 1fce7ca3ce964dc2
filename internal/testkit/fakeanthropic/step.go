package fakeanthropic

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// Step is what the server does with one request: a Reply, Error, Raw, CutStream,
// FailStream or Hang.
type Step interface {
	serve(x *exchange)
}

// Usage counts tokens, as a reply reports them.
type Usage struct {
	Input, CacheRead, CacheWrite, Output int
	Thinking                             int // of Output
}

// Reply is an answer of the model: Thinking, Redacted, Text and ToolCalls in this
// order, or any Blocks at all. Thoughts are signed by the server.
type Reply struct {
	Thinking   string
	Redacted   string
	Text       string
	ToolCalls  []ToolCall
	JSON       string  // the answer in the form that the request asks for: a forced call, or text
	Blocks     []Block // instead of the fields above
	Usage      *Usage  // nil = an estimate
	StopReason string  // "" = tool_use or end_turn, as fits
	Refusal    string  // explanation that goes with the stop reason refusal
	Latency    time.Duration
	ChunkDelay time.Duration
}

// ToolCall is a call in a Reply. Input may be broken JSON.
type ToolCall struct{ ID, Name, Input string }

// Error is an error reply in Anthropic's form.
type Error struct {
	Status     int
	Type       string
	Message    string
	RetryAfter time.Duration // sent as whole seconds when positive
	Header     http.Header   // further headers
}

// Raw is a reply as the test wrote it. A body of type text/event-stream is sent
// as it is, framing included.
type Raw struct {
	Status      int    // 0 = 200
	ContentType string // "" = application/json
	Body        string
	Header      http.Header
}

// CutStream begins to stream Reply and breaks the connection after that many events.
type CutStream struct {
	Reply       Reply
	AfterEvents int
	Clean       bool // end the reply in good order instead, just too early
}

// FailStream begins to stream Reply and sends an error event after that many events.
type FailStream struct {
	Reply         Reply
	AfterEvents   int
	Type, Message string
}

// Hang waits until Release is closed (or the client leaves, or the server is
// closed) and then goes on. With AfterEvents it streams so many events first.
type Hang struct {
	Release     <-chan struct{} // nil = never released
	AfterEvents int
	Then        Step // nil = a Reply with the text "released"
}

// exchange is one request being answered.
type exchange struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	req    Request

	stopAfter int // events before stop, when that is set
	stop      func() (goOn bool)
}

func (r Reply) serve(x *exchange) {
	if !x.server.Sleep(x.r, r.Latency) {
		return
	}
	r = r.complete(x.req)
	x.server.remember(r.Blocks)
	if x.req.Stream && !x.server.config.Whole {
		x.stream(r)
		return
	}
	writeJSON(x.w, http.StatusOK, x.message(r))
}

func (e Error) serve(x *exchange) {
	for key, values := range e.Header {
		x.w.Header()[key] = values
	}
	if e.RetryAfter > 0 {
		x.w.Header().Set("Retry-After", strconv.Itoa(int(e.RetryAfter/time.Second)))
	}
	kind, message := e.Type, e.Message
	if kind == "" {
		kind = typeOf(e.Status)
	}
	if message == "" {
		message = "scripted error"
	}
	writeError(x.w, e.Status, kind, message)
}

// typeOf is the type that the real service gives an error of a status
// (https://platform.claude.com/docs/en/api/errors).
func typeOf(status int) string {
	switch status {
	case 400:
		return "invalid_request_error"
	case 401:
		return "authentication_error"
	case 402:
		return "billing_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 504:
		return "timeout_error"
	case 529:
		return "overloaded_error"
	}
	return "api_error"
}

func (r Raw) serve(x *exchange) {
	for key, values := range r.Header {
		x.w.Header()[key] = values
	}
	contentType := r.ContentType
	if contentType == "" {
		contentType = "application/json"
	}
	status := r.Status
	if status == 0 {
		status = http.StatusOK
	}
	x.w.Header().Set("Content-Type", contentType)
	x.w.WriteHeader(status)
	_, _ = x.w.Write([]byte(r.Body))
}

func (c CutStream) serve(x *exchange) {
	x.stopAfter = c.AfterEvents
	x.stop = func() bool {
		if !c.Clean {
			// The documented way to break a connection from inside a handler.
			panic(http.ErrAbortHandler)
		}
		return false
	}
	c.Reply.serve(x)
}

func (f FailStream) serve(x *exchange) {
	x.stopAfter = f.AfterEvents
	x.stop = func() bool {
		x.send("error", errorEvent(f.Type, f.Message))
		return false
	}
	f.Reply.serve(x)
}

func (h Hang) serve(x *exchange) {
	then := h.Then
	if then == nil {
		then = Reply{Text: "released"}
	}
	if h.AfterEvents > 0 {
		x.stopAfter, x.stop = h.AfterEvents, func() bool { return x.server.Hold(x.r, h.Release) }
	} else if !x.server.Hold(x.r, h.Release) {
		return
	}
	then.serve(x)
}

type object = map[string]any

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if w.Header().Get("Request-Id") == "" {
		w.Header().Set("Request-Id", requestID)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
