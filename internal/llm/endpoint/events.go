package endpoint

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// maxEventLines bounds the lines of one event, which are looked at again for each
// line that comes.
const maxEventLines = 256

// Events reads server-sent events as endpoints really send them and hands on what
// its Write makes of each: comments, other fields, odd framing and line ends stay
// here, and an error in the stream ends it as a *Failure.
type Events struct {
	source  *bufio.Reader
	closer  io.Closer
	attempt *Attempt
	format  EventFormat

	ready      bytes.Buffer // levelled events not yet handed on
	event      []byte       // data of the event so far, when it spans lines
	eventLines int
	isError    bool // the event was named "error"
	end        error
}

// EventFormat is how an adapter's library wants events.
type EventFormat struct {
	// Write writes an event: valid JSON, or the [DONE] of OpenAI's streams.
	Write func(out *bytes.Buffer, event []byte)
	// Last reports that no event follows this one; nil = only [DONE] says so.
	Last func(event []byte) bool
}

// NewEvents returns the levelled stream of a reply's body.
func NewEvents(source *bufio.Reader, closer io.Closer, attempt *Attempt, format EventFormat) *Events {
	return &Events{source: source, closer: closer, attempt: attempt, format: format}
}

// Close closes the reply.
func (b *Events) Close() error { return b.closer.Close() }

// Read implements io.Reader.
func (b *Events) Read(p []byte) (int, error) {
	for b.ready.Len() == 0 {
		if b.end != nil {
			return 0, b.end
		}
		b.end = b.line()
	}
	return b.ready.Read(p)
}

// line reads one line of the stream.
func (b *Events) line() error {
	line, err := b.readLine()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	line = bytes.TrimSpace(line)
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		line = bytes.TrimSpace(data)
	} else if len(line) == 0 {
		if len(b.event) > 0 {
			return NotJSON()
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
func (b *Events) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := b.source.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > MaxReplyBytes {
			return nil, TooLarge()
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// data takes one line of data. Events end with a blank line, but some endpoints
// send none: an event is complete as soon as it is JSON.
func (b *Events) data(line []byte) error {
	if string(line) == "[DONE]" {
		b.format.Write(&b.ready, line)
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
	if b.eventLines++; b.eventLines > maxEventLines || len(b.event) > MaxReplyBytes {
		return NotJSON()
	}
	if !json.Valid(b.event) {
		return nil
	}
	if err := b.check(); err != nil {
		return err
	}
	b.format.Write(&b.ready, b.event)
	last := b.format.Last != nil && b.format.Last(b.event)
	b.event, b.eventLines, b.isError = b.event[:0], 0, false
	if b.attempt != nil {
		b.attempt.chunk()
	}
	if last {
		b.drain()
		return io.EOF
	}
	return nil
}

var errorField = []byte(`"error"`)

// check looks for an error in the event.
func (b *Events) check() error {
	if !b.isError && !bytes.Contains(b.event, errorField) {
		return nil
	}
	if f := InlineFailure(b.event, b.isError); f != nil {
		return f
	}
	return nil
}

func (b *Events) keepalive() {
	if b.attempt != nil {
		b.attempt.keepalive()
	}
}

// drain reads what little follows the end of the stream: only a body that was read
// to its end leaves a connection that can be used again.
func (b *Events) drain() {
	if b.attempt == nil {
		return
	}
	stop := b.attempt.draining()
	defer stop()
	// Whatever it is, the answer is complete.
	_, _ = io.CopyN(io.Discard, b.source, 4<<10)
}
