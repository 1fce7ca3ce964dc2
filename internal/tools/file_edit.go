package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

//go:embed file_edit.md
var fileEditDescription string

const (
	maxEditBytes  = 8 << 20
	maxDiffRunes  = 4000
	diffContext   = 3
	linesReported = 10
)

type fileEditArgs struct {
	Path       string `json:"path" jsonschema:"file to change, relative to the workspace"`
	OldText    string `json:"old_text" jsonschema:"the text to replace, exactly as in the file"`
	NewText    string `json:"new_text" jsonschema:"the text to put in its place"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"replace every occurrence instead of exactly one"`
}

// FileEdit is the tool file_edit.
func FileEdit(w *Workspace) Tool {
	return New(Spec[fileEditArgs]{
		Name:        "file_edit",
		Description: fileEditDescription,
		Effect:      Outside,
		Summary:     func(a fileEditArgs) string { return a.Path },
	}, func(_ context.Context, _ Call, a fileEditArgs) (string, error) {
		p, err := w.locateToWrite(a.Path)
		if err != nil {
			return "", err
		}
		defer p.close()
		return p.edit(a)
	})
}

func (p place) edit(a fileEditArgs) (string, error) {
	switch {
	case a.OldText == "":
		return "", errors.New("old_text is empty: give the text to replace, or use file_write for a new file")
	case a.OldText == a.NewText:
		return "", errors.New("old_text and new_text are the same: nothing to change")
	}
	data, info, err := p.readAll(maxEditBytes)
	if err != nil {
		return "", err
	}
	before := string(data)
	edits, err := p.findEdits(before, a)
	if err != nil {
		return "", err
	}
	after, err := udiff.Apply(before, edits)
	if err != nil {
		return "", fmt.Errorf("change %s: %w", p.shown, err)
	}
	if after == before {
		return "", fmt.Errorf("%s would stay as it is: old_text and new_text differ in their line endings only", p.shown)
	}
	if _, err := p.write(replacement{data: []byte(after), expect: info}); err != nil {
		return "", err
	}
	return p.describeEdits(before, edits), nil
}

// findEdits looks for old_text with every CRLF taken as LF, on both sides, so
// that the model need not know how the lines end; positions are those of the file.
func (p place) findEdits(file string, a fileEditArgs) ([]udiff.Edit, error) {
	text := strings.ReplaceAll(file, "\r\n", "\n")
	old := strings.ReplaceAll(a.OldText, "\r\n", "\n")
	replacement := strings.ReplaceAll(a.NewText, "\r\n", "\n")
	if crlf := strings.Count(file, "\r\n"); crlf > 0 && 2*crlf >= strings.Count(file, "\n") {
		replacement = strings.ReplaceAll(replacement, "\n", "\r\n")
	}
	var edits []udiff.Edit
	var lines []int
	// at walks through text, removed counts the CRs that text lacks before at.
	at, removed, line := 0, 0, 1
	advance := func(to int) int {
		newlines := strings.Count(text[at:to], "\n")
		for ; newlines > 0; newlines-- {
			at += strings.IndexByte(text[at:], '\n') + 1
			line++
			if i := at + removed - 1; file[i] == '\r' { // "\r\n" in the file
				removed++
			}
		}
		at = to
		return to + removed
	}
	for from := 0; ; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			break
		}
		start := advance(from + i)
		lines = append(lines, line)
		end := advance(from + i + len(old))
		edits = append(edits, udiff.Edit{Start: start, End: end, New: replacement})
		from += i + len(old)
	}
	switch {
	case len(edits) == 0:
		return nil, fmt.Errorf("old_text was not found in %s%s: give it exactly as file_read shows it", p.shown, closest(text, old))
	case len(edits) > 1 && !a.ReplaceAll:
		return nil, fmt.Errorf("old_text occurs %d times in %s (%s): add lines around it until it is unique, or set replace_all", len(edits), p.shown, lineList(lines))
	}
	return edits, nil
}

func (p place) describeEdits(before string, edits []udiff.Edit) string {
	text := fmt.Sprintf("changed %s", p.shown)
	if len(edits) > 1 {
		text += fmt.Sprintf(" in %d places", len(edits))
	}
	diff, err := udiff.ToUnified(p.shown, p.shown, before, edits, diffContext)
	if err != nil { // the file is written all the same
		return text
	}
	diff = strings.TrimRight(strings.ReplaceAll(diff, "\r\n", "\n"), "\n")
	if head := headRunes(diff, maxDiffRunes); len(head) < len(diff) {
		diff = head + "\n[... rest of the diff left out ...]"
	}
	return text + "\n" + diff
}

func lineList(lines []int) string {
	var b strings.Builder
	for i, n := range lines {
		switch {
		case i == linesReported:
			return b.String() + ", …"
		case i == 0:
			b.WriteString("lines ")
		default:
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	return b.String()
}
