package tools

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

//go:embed file_read.md
var fileReadDescription string

const (
	maxLineRunes  = 2000
	maxScanBytes  = 256 << 20 // after this the number of lines is no longer counted
	footerRunes   = 200       // room for the note at the end
	sniffedBytes  = 8 << 10
	leastReadRoom = 1000
)

type fileReadArgs struct {
	Path   string `json:"path" jsonschema:"file to read, relative to the workspace"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line to return, from 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many lines to return"`
}

// FileRead is the tool file_read. It returns at most maxResultChars characters
// (0 = the registry's default), so that the registry has nothing to cut.
func FileRead(w *Workspace, maxResultChars int) Tool {
	if maxResultChars <= 0 {
		maxResultChars = defaultResultChars
	}
	room := max(maxResultChars-footerRunes, leastReadRoom)
	return New(Spec[fileReadArgs]{
		Name:        "file_read",
		Description: fileReadDescription,
		Effect:      ReadOnly,
		Summary:     func(a fileReadArgs) string { return a.Path },
		Refine: func(s *jsonschema.Schema) {
			s.Properties["offset"].Minimum = jsonschema.Ptr(0.0)
			s.Properties["limit"].Minimum = jsonschema.Ptr(1.0)
		},
	}, func(ctx context.Context, _ Call, a fileReadArgs) (string, error) {
		p, err := w.locateToRead(a.Path)
		if err != nil {
			return "", err
		}
		defer p.close()
		return p.readLines(ctx, max(a.Offset, 1), a.Limit, room)
	})
}

// excerpt is what was read of a file, and what is known of the rest.
type excerpt struct {
	lines    []string
	first    int
	total    int  // lines seen
	counted  bool // total is all there are
	crlf     bool
	invalid  bool // not UTF-8
	anything bool // some line is not blank
}

func (p place) readLines(ctx context.Context, first, limit, room int) (string, error) {
	f, info, err := p.open()
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	r := bufio.NewReaderSize(f, 64<<10)
	// Peek fails at the end of a short file and still returns what there is.
	start, err := r.Peek(sniffedBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", p.explain(err)
	}
	if kind := binaryKind(start); kind != "" {
		return "", fmt.Errorf("%s is not a text file (%s, %s): look at it with bash (file, strings, iconv)", p.shown, kind, bytesText(info.Size()))
	}
	if bytes.HasPrefix(start, []byte("\xEF\xBB\xBF")) {
		_, _ = r.Discard(3)
	}
	e := excerpt{first: first}
	if err := e.fill(ctx, r, limit, room); err != nil {
		return "", p.explain(err)
	}
	switch {
	case e.total == 0 && first <= 1:
		return "[the file is empty]", nil
	case first > e.total:
		return "", fmt.Errorf("offset %d is past the end: %s has %s", first, p.shown, plural(e.total, "line"))
	}
	return e.String(), nil
}

// fill takes lines until limit or room is used up, then only counts.
func (e *excerpt) fill(ctx context.Context, r *bufio.Reader, limit, room int) error {
	taking, scanned := true, int64(0)
	for {
		if e.total%1000 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		line, length, err := readLine(r)
		if errors.Is(err, io.EOF) {
			e.counted = true
			return nil
		}
		if err != nil {
			return err
		}
		e.total++
		scanned += length
		if e.total < e.first {
			continue
		}
		if !taking {
			if scanned > maxScanBytes {
				return nil
			}
			continue
		}
		text := e.show(line, length)
		room -= utf8.RuneCountInString(text) + 1
		if len(e.lines) > 0 && room < 0 {
			taking = false
			continue
		}
		e.lines = append(e.lines, text)
		taking = limit <= 0 || len(e.lines) < limit
	}
}

// show makes one line presentable and notes what is special about it.
func (e *excerpt) show(line []byte, length int64) string {
	if rest, ok := bytes.CutSuffix(line, []byte("\r")); ok {
		line, e.crlf = rest, true
	}
	if !utf8.Valid(line) {
		// A line that was cut in the middle of a character is not to blame.
		e.invalid = e.invalid || length <= int64(len(line))+2
	}
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	e.anything = e.anything || strings.TrimSpace(text) != ""
	if int64(len(line))+2 >= length && utf8.RuneCountInString(text) <= maxLineRunes {
		return text
	}
	head := headRunes(text, maxLineRunes)
	return fmt.Sprintf("%s [... %s of this line left out ...]", head, bytesText(length-int64(len(head))))
}

// String is the lines and, where something is to be said about them, a note.
func (e *excerpt) String() string {
	last := e.first + len(e.lines) - 1
	total := fmt.Sprint(e.total)
	if !e.counted {
		total = "more than " + total
	}
	var notes []string
	switch {
	case last < e.total || !e.counted:
		notes = append(notes, fmt.Sprintf("lines %d-%d of %s; continue with offset %d", e.first, last, total, last+1))
	case e.first > 1 || !e.anything:
		notes = append(notes, fmt.Sprintf("lines %d-%d of %s", e.first, last, total))
	}
	if !e.anything {
		notes = append(notes, "all blank")
	}
	if e.crlf {
		notes = append(notes, "CRLF line endings")
	}
	if e.invalid {
		notes = append(notes, "not valid UTF-8: unreadable bytes are shown as \uFFFD")
	}
	text := strings.Join(e.lines, "\n")
	if len(notes) > 0 {
		text += "\n[" + strings.Join(notes, "; ") + "]"
	}
	return text
}

// readLine returns a line without its "\n", of which only the beginning is kept
// when it is long, and how many bytes it has in the file.
func readLine(r *bufio.Reader) (line []byte, length int64, err error) {
	const keep = maxLineRunes*utf8.UTFMax + 2
	for {
		part, err := r.ReadSlice('\n')
		length += int64(len(part))
		line = append(line, part[:min(len(part), keep-len(line))]...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), length, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && length > 0:
			return line, length, nil
		default:
			return nil, 0, err
		}
	}
}

// binaryKind says what a file that begins like this is, "" when it is text.
func binaryKind(start []byte) string {
	kind := http.DetectContentType(start)
	if bytes.HasPrefix(start, []byte("\xFF\xFE")) || bytes.HasPrefix(start, []byte("\xFE\xFF")) {
		return "UTF-16 text"
	}
	name, _, _ := strings.Cut(kind, ";")
	text := strings.HasPrefix(name, "text/") || name == "application/octet-stream" || name == "application/postscript"
	if text && bytes.IndexByte(start, 0) < 0 {
		return ""
	}
	if name == "application/octet-stream" || text {
		return "binary"
	}
	return name
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
