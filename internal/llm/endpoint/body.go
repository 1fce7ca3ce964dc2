package endpoint

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

const (
	// MaxReplyBytes bounds a whole reply, or one event.
	MaxReplyBytes = 32 << 20
	// MaxStreamBytes bounds a stream: most of it is framing.
	MaxStreamBytes = 256 << 20

	maxErrorBytes = 64 << 10 // read of an error reply; far less of it is kept
)

// Bounded returns a reader that fails beyond max bytes.
func Bounded(source io.Reader, max int) io.Reader { return &bounded{source: source, left: max} }

type bounded struct {
	source io.Reader
	left   int
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.source.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, TooLarge()
	}
	return n, err
}

// FirstByte skips what does not count and says what a body begins with: that is
// what tells a stream from a whole reply and from a web page, since content types
// are not reliable.
func FirstByte(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		// A byte-order mark is white space here.
		if !strings.ContainsRune(" \t\r\n", rune(b)) && b != 0xef && b != 0xbb && b != 0xbf {
			return b, r.UnreadByte()
		}
	}
}

// Merge sets fields of a JSON object; a field that is null is removed.
func Merge(body []byte, fields map[string]json.RawMessage) ([]byte, error) {
	var merged map[string]json.RawMessage
	if err := json.Unmarshal(body, &merged); err != nil {
		return nil, fmt.Errorf("read request body: %w", err)
	}
	if merged == nil {
		merged = map[string]json.RawMessage{}
	}
	for name, value := range fields {
		if string(value) == "null" {
			delete(merged, name)
			continue
		}
		merged[name] = value
	}
	out, err := json.Marshal(merged)
	if err != nil {
		return nil, fmt.Errorf("write request body: %w", err)
	}
	return out, nil
}
