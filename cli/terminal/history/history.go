package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	// most is how many texts are kept; the file may have twice as many before it is cut.
	most = 1000
	// maxText is the longest text that is kept, in bytes: the history is for typing
	// again, not for files that were pasted.
	maxText = 16 << 10
	maxFile = 64 << 20
)

// History is the file and what is in it. Not safe for concurrent use; several
// processes may add to one file.
type History struct {
	path  string
	texts []string
}

// Open reads the file, and makes it if it is not there. A long one is cut to its end.
func Open(path string) (*History, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Chmod(0o600), f.Close()); err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("open history: %s is larger than %d MB: delete it", path, maxFile>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	h := &History{path: path}
	lines := strings.Split(string(data), "\n")
	for _, l := range lines {
		if l = strings.TrimSuffix(l, "\r"); l != "" && len(l) <= 2*maxText {
			h.texts = append(h.texts, decode(l))
		}
	}
	if len(h.texts) > most {
		h.texts = h.texts[len(h.texts)-most:]
	}
	if len(lines) > 2*most {
		return h, h.rewrite()
	}
	return h, nil
}

// Texts returns what was typed, oldest first.
func (h *History) Texts() []string { return append([]string(nil), h.texts...) }

// Add keeps a text. One that was typed just before, and one that is too long, is not.
func (h *History) Add(text string) error {
	if !Keeps(text) || len(h.texts) > 0 && h.texts[len(h.texts)-1] == text {
		return nil
	}
	h.texts = append(h.texts, text)
	f, err := os.OpenFile(h.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	_, err = f.WriteString(encode(text) + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// Keeps reports whether a text is one for the history.
func Keeps(text string) bool { return strings.TrimSpace(text) != "" && len(text) <= maxText }

// rewrite replaces the file by its end.
func (h *History) rewrite() error {
	var out strings.Builder
	for _, t := range h.texts {
		out.WriteString(encode(t) + "\n")
	}
	tmp, err := os.CreateTemp(filepath.Dir(h.path), filepath.Base(h.path)+".*") // 0600
	if err != nil {
		return fmt.Errorf("cut history: %w", err)
	}
	_, err = tmp.WriteString(out.String())
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), h.path)
	}
	if err != nil {
		if rm := os.Remove(tmp.Name()); !errors.Is(rm, fs.ErrNotExist) {
			err = errors.Join(err, rm)
		}
		return fmt.Errorf("cut history: %w", err)
	}
	return nil
}

// A text is one line of the file: its own line breaks are written \n, and so that
// this can be undone, \ is written \\.
var (
	encoder = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", "")
	decoder = strings.NewReplacer(`\\`, `\`, `\n`, "\n")
)

func encode(text string) string { return encoder.Replace(text) }
func decode(line string) string { return decoder.Replace(line) }
