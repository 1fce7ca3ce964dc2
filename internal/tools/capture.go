package tools

import (
	"bytes"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"picobot/internal/brief"
)

const (
	maxKeptOutput    = 64 << 20 // bytes of the file with the whole output
	maxProgressLine  = 500      // runes
	progressInterval = 100 * time.Millisecond
)

// capture takes a command's output: head and tail in memory, all of it in a file
// once it does not fit. It never fails, so that the command never waits.
type capture struct {
	room     int                             // bytes of head and tail together
	create   func() (io.WriteCloser, string) // makes the file; nil when it cannot
	now      func() time.Time
	progress func(line string)

	head  []byte
	tail  []byte // the last bytes after head, at most twice what is kept
	total int64

	file     io.WriteCloser
	path     string
	tried    bool // create was called
	kept     int64
	line     []byte // beginning of the line that is not complete yet
	notified time.Time
}

func (c *capture) Write(p []byte) (int, error) {
	c.total += int64(len(p))
	rest := p
	if n := min(c.room/2-len(c.head), len(rest)); n > 0 {
		c.head = append(c.head, rest[:n]...)
		rest = rest[n:]
	}
	c.tail = append(c.tail, rest...)
	if c.total > int64(c.room) {
		c.keep(p)
	}
	if keep := c.room - c.room/2; len(c.tail) > 2*max(keep, len(p)) {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-keep:]...)
	}
	c.tell(p)
	return len(p), nil
}

// keep writes to the file, at first what came before too.
func (c *capture) keep(p []byte) {
	if !c.tried {
		c.tried = true
		c.file, c.path = c.create()
		p = append(c.head[:len(c.head):len(c.head)], c.tail...)
	}
	if c.file == nil || c.kept >= maxKeptOutput {
		return
	}
	p = p[:min(int64(len(p)), maxKeptOutput-c.kept)]
	n, err := c.file.Write(p)
	c.kept += int64(n)
	if err != nil { // a full disk ends the file, not the command
		_ = c.file.Close()
		c.file = nil
	}
}

// tell passes on the last complete line, not more often than people can read.
func (c *capture) tell(p []byte) {
	if c.progress == nil {
		return
	}
	end := bytes.LastIndexByte(p, '\n')
	if end < 0 {
		c.line = append(c.line, p[:min(len(p), max(0, 4*maxProgressLine-len(c.line)))]...)
		return
	}
	start := bytes.LastIndexByte(p[:end], '\n') + 1
	last := p[start:min(end, start+4*maxProgressLine)]
	if start == 0 {
		last = append(c.line, last...)
	}
	if line := brief.OneLine(strings.ToValidUTF8(string(last), "")); line != "" && c.now().Sub(c.notified) >= progressInterval {
		c.progress(brief.Cut(line, maxProgressLine))
		c.notified = c.now()
	}
	c.line = append([]byte(nil), p[end+1:][:min(len(p)-end-1, 4*maxProgressLine)]...)
}

func (c *capture) close() {
	if c.file != nil {
		_ = c.file.Close()
	}
}

// String is the output, shortened in the middle when it is long.
func (c *capture) String() string {
	if c.total <= int64(c.room) {
		return string(c.head) + string(c.tail)
	}
	keep := c.room - c.room/2
	head, tail := wholeRunes(c.head, c.tail[max(0, len(c.tail)-keep):])
	where := c.path
	if where != "" && c.kept < c.total {
		where += " (its first " + bytesText(c.kept) + ")"
	}
	return string(head) + leftOut(int(c.total)-len(head)-len(tail), "bytes", where) + string(tail)
}

// wholeRunes takes half characters away where the middle was cut out.
func wholeRunes(head, tail []byte) ([]byte, []byte) {
	for i := 1; i < utf8.UTFMax && i <= len(head); i++ {
		if last := head[len(head)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				head = head[:len(head)-i]
			}
			break
		}
	}
	for i := 0; i < utf8.UTFMax-1 && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
	}
	return head, tail
}
