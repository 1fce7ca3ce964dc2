package fakeopenai

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// Step is what the server does with one request: a Reply, Error, Raw, CutStream or Hang.
type Step interface {
	serve(x *exchange)
}

// Usage counts tokens, as a reply reports them.
type Usage struct {
	Prompt     int
	Completion int
	Cached     int // of Prompt
	Reasoning  int // of Completion
}

// Reply is an answer of the model.
type Reply struct {
	Text         string
	ToolCalls    []ToolCall // an empty ID is filled in: call_1, call_2 …
	Reasoning    string
	Usage        *Usage        // nil = an estimate
	FinishReason string        // "" = tool_calls or stop, as fits
	Latency      time.Duration // before the first byte
	ChunkDelay   time.Duration // before every streamed chunk
	Quirks       *Quirks       // nil = the server's
}

// Error is an error reply in OpenAI's form.
type Error struct {
	Status     int
	Code       string
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

// CutStream begins to stream Reply and breaks the connection after that many chunks.
type CutStream struct {
	Reply       Reply
	AfterChunks int
	Clean       bool   // end the reply in good order instead, just too early
	Error       *Error // report this error in the stream instead
}

// Hang waits until Release is closed (or the client leaves, or the server is
// closed) and then goes on. With AfterChunks it streams so many chunks first.
type Hang struct {
	Release     <-chan struct{} // nil = never released
	AfterChunks int
	Then        Step // nil = an empty-handed Reply with the text "released"
}

// Quirks are the ways in which compatible servers differ from OpenAI. The zero
// value is OpenAI's way.
type Quirks struct {
	NoIndex          bool   // streamed calls carry no index
	ZeroIndex        bool   // streamed calls all carry index 0 (Ollama)
	NoCallIDs        bool   // calls carry no id
	OneDelta         bool   // all calls whole in one delta
	RepeatHeader     bool   // id and name come again with every piece of arguments
	ObjectArguments  bool   // arguments are an object, not a string
	ReasoningField   string // "" = reasoning_content; vLLM and OpenRouter: reasoning
	NoUsage          bool   // no usage, whether asked for or not
	UsageInFinish    bool   // usage in the last chunk with a choice, not in one of its own
	Comments         bool   // keepalive comments between chunks (OpenRouter)
	NoDone           bool   // no [DONE] at the end
	NoFinishReason   bool   // finish_reason stays null
	TwoFinishReasons bool   // the finishing chunk comes twice (OpenRouter)
	CRLF             bool   // lines end in \r\n
	FloatCreated     bool   // created is a float
}

// exchange is one request being answered.
type exchange struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	req    Request
	quirks Quirks

	holdAfter int // chunks before the hold, when hold is set
	hold      func() bool
	cutAfter  int // chunks before the cut, when cut is set
	cut       func()
}

func (r Reply) serve(x *exchange) {
	if r.Quirks != nil {
		x.quirks = *r.Quirks
	}
	if !x.server.Sleep(x.r, r.Latency) {
		return
	}
	r = r.complete(x.req)
	if x.req.Stream {
		x.stream(r)
		return
	}
	writeJSON(x.w, http.StatusOK, x.completion(r))
}

func (e Error) serve(x *exchange) {
	for key, values := range e.Header {
		x.w.Header()[key] = values
	}
	if e.RetryAfter > 0 {
		x.w.Header().Set("Retry-After", strconv.Itoa(int(e.RetryAfter/time.Second)))
	}
	writeJSON(x.w, e.Status, object{"error": e.object()})
}

func (e Error) object() object {
	message := e.Message
	if message == "" {
		message = "scripted error"
	}
	return errorObject(e.Type, e.Code, message)
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
	x.cutAfter = c.AfterChunks
	x.cut = func() {
		if e := c.Error; e != nil {
			x.sendEvent(object{"error": e.object()})
			return
		}
		if !c.Clean {
			// The documented way to break a connection from inside a handler.
			panic(http.ErrAbortHandler)
		}
	}
	if !x.req.Stream {
		x.cut()
		return
	}
	c.Reply.serve(x)
}

func (h Hang) serve(x *exchange) {
	then := h.Then
	if then == nil {
		then = Reply{Text: "released"}
	}
	if h.AfterChunks > 0 && x.req.Stream {
		x.holdAfter, x.hold = h.AfterChunks, func() bool { return x.server.Hold(x.r, h.Release) }
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
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func writeError(w http.ResponseWriter, status int, kind, code, message string) {
	writeJSON(w, status, object{"error": errorObject(kind, code, message)})
}

func errorObject(kind, code, message string) object {
	fields := object{"message": message, "type": kind, "param": nil, "code": nil}
	if code != "" {
		fields["code"] = code
	}
	return fields
}
