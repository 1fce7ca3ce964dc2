package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"picobot/internal/llm"
)

// maxEventLines bounds the lines of one event, which are looked at again for each
// line that comes.
const maxEventLines = 256

// eventBody reads server-sent events as endpoints really send them and hands on
// nothing but "data: JSON" lines, the way go-openai wants them. Comments, other
// fields, odd framing and line ends stay here; an error in the stream ends it as
// a *failure.
type eventBody struct {
	source  *bufio.Reader
	closer  io.Closer
	attempt *attempt

	ready      bytes.Buffer // levelled lines not yet handed on
	event      []byte       // data of the event so far, when it spans lines
	eventLines int
	isError    bool // the event was named "error"
	end        error
}

func (b *eventBody) Close() error { return b.closer.Close() }

func (b *eventBody) Read(p []byte) (int, error) {
	for b.ready.Len() == 0 {
		if b.end != nil {
			return 0, b.end
		}
		b.end = b.line()
	}
	return b.ready.Read(p)
}

// line reads one line of the stream.
func (b *eventBody) line() error {
	line, err := b.readLine()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	line = bytes.TrimSpace(line)
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		line = bytes.TrimSpace(data)
	} else if len(line) == 0 {
		if len(b.event) > 0 {
			return notJSON()
		}
		b.isError = false
		b.keepalive()
		return err
	} else if line[0] != '{' {
		if name, ok := bytes.CutPrefix(line, []byte("event:")); ok {
			b.isError = string(bytes.TrimSpace(name)) == "error"
		}
		b.keepalive()
		return err
	}
	if failed := b.data(line); failed != nil {
		return failed
	}
	return err
}

// readLine is ReadBytes with a bound.
func (b *eventBody) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := b.source.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxReplyBytes {
			return nil, tooLarge()
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// data takes one line of data. Events end with a blank line, but some endpoints
// send none: an event is complete as soon as it is JSON.
func (b *eventBody) data(line []byte) error {
	if string(line) == "[DONE]" {
		b.ready.WriteString("data: [DONE]\n")
		b.drain()
		return io.EOF
	}
	if len(line) == 0 {
		return nil
	}
	if len(b.event) > 0 {
		b.event = append(b.event, ' ') // a line break inside JSON is white space
	}
	b.event = append(b.event, line...)
	if b.eventLines++; b.eventLines > maxEventLines || len(b.event) > maxReplyBytes {
		return notJSON()
	}
	if !json.Valid(b.event) {
		return nil
	}
	if err := b.check(); err != nil {
		return err
	}
	b.ready.WriteString("data: ")
	b.ready.Write(b.event)
	b.ready.WriteByte('\n')
	b.event, b.eventLines, b.isError = b.event[:0], 0, false
	if b.attempt != nil {
		b.attempt.chunk()
	}
	return nil
}

var errorField = []byte(`"error"`)

// check looks for an error in the event.
func (b *eventBody) check() error {
	if !b.isError && !bytes.Contains(b.event, errorField) {
		return nil
	}
	if f := inlineFailure(b.event, b.isError); f != nil {
		return f
	}
	// go-openai takes any event that starts so for an error, "error":null included.
	if bytes.HasPrefix(b.event, []byte(`{"error":`)) {
		b.event = append([]byte("{ "), b.event[1:]...)
	}
	return nil
}

func (b *eventBody) keepalive() {
	if b.attempt != nil {
		b.attempt.keepalive()
	}
}

// drain reads what little follows the end of the stream: only a body that was read
// to its end leaves a connection that can be used again.
func (b *eventBody) drain() {
	if b.attempt == nil {
		return
	}
	stop := b.attempt.draining()
	defer stop()
	// Whatever it is, the answer is complete.
	_, _ = io.CopyN(io.Discard, b.source, 4<<10)
}

func notJSON() *failure {
	return &failure{kind: llm.KindServer, message: "the endpoint sent an answer that is not JSON"}
}
