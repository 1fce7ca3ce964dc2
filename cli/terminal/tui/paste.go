package tui

import (
	"encoding/base64"
	"net/url"
	"path/filepath"
	"strings"

	"picobot/cli/terminal"
	"picobot/internal/protocol"
	"picobot/internal/text"
)

// pasted is something of which the text has only a label.
type pasted struct {
	label string
	text  string // what the label stands for
	image *Image // or the image that goes with it
}

// What is longer gets a label.
const (
	labelLines = 5
	labelRunes = 600
	maxImages  = 16
)

// paste takes what the terminal says was pasted, or dropped onto it.
func (m *Model) paste(what string) []effect {
	if m.reader != nil {
		return nil
	}
	if m.picker != nil {
		m.picker.filter += oneLine(what)
		m.picker.at = 0
		return nil
	}
	if paths := imagePaths(what); len(paths) > 0 {
		return []effect{readImages{pasted: what, paths: paths}}
	}
	m.insert(what)
	return m.completeAgain()
}

// insert puts a text into the input, or a label for it.
func (m *Model) insert(what string) {
	what = terminal.Clean(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(what))
	lines := strings.Count(strings.TrimRight(what, "\n"), "\n") + 1
	if lines <= labelLines && len([]rune(what)) <= labelRunes && !strings.Contains(what, "\t") {
		m.input.area.InsertString(what)
		return
	}
	m.input.pastes++
	m.input.label(pasted{label: m.words.Say(text.PastedText{Number: m.input.pastes, Lines: lines}), text: what})
}

func (in *input) label(p pasted) {
	in.pasted = append(in.pasted[:len(in.pasted):len(in.pasted)], p)
	in.area.InsertString(p.label)
}

// attach takes images that were read.
func (m *Model) attach(r imagesRead) {
	if r.err != nil {
		m.add(block{kind: kindAlert, text: m.words.Say(text.ImageNotTaken{Name: r.failed, Detail: r.err.Error()})})
		return
	}
	if len(r.images) == 0 {
		m.insert(r.pasted)
		return
	}
	for _, img := range r.images {
		if m.input.mediaBytes()+base64.StdEncoding.EncodedLen(len(img.Data)) > m.maxBytes || len(m.input.media()) >= maxImages {
			m.add(block{kind: kindAlert, text: m.words.Say(text.ImageNotTaken{
				Name: terminal.Clean(img.Name), Detail: m.words.Say(text.ImageTooLarge{MB: m.maxBytes >> 20}),
			})})
			continue
		}
		m.input.pastes++
		m.input.label(pasted{label: m.words.Say(text.PastedImage{Number: m.input.pastes, Name: terminal.Clean(img.Name)}), image: &img})
		m.input.area.InsertString(" ")
	}
}

// whole is the text with what its labels stand for. An image's label stays: it tells
// the model which image is meant.
func (in *input) whole() string {
	out := in.area.Value()
	for _, p := range in.pasted {
		if p.image == nil {
			out = strings.Replace(out, p.label, p.text, 1)
		}
	}
	return out
}

// media are the images whose labels are still there.
func (in *input) media() []Image {
	var out []Image
	for _, p := range in.pasted {
		if p.image != nil && strings.Contains(in.area.Value(), p.label) {
			out = append(out, *p.image)
		}
	}
	return out
}

func (in *input) mediaBytes() int {
	n := 0
	for _, img := range in.media() {
		n += base64.StdEncoding.EncodedLen(len(img.Data))
	}
	return n
}

// pastedBefore is how many characters the label has that ends at the cursor.
func (in *input) pastedBefore() int {
	before := in.area.Value()[:in.cursor()]
	for _, p := range in.pasted {
		if strings.HasSuffix(before, p.label) {
			return len([]rune(p.label))
		}
	}
	return 0
}

func frames(images []Image) []protocol.Media {
	var out []protocol.Media
	for _, img := range images {
		out = append(out, protocol.Media{Type: "image", MIME: img.MIME, Data: base64.StdEncoding.EncodeToString(img.Data)})
	}
	return out
}

// imagePaths are the files that a pasted text names, if it names nothing but images:
// plain, in quotes, with escaped spaces or as a file: address, as terminals and file
// managers write them.
func imagePaths(what string) []string {
	const longest = 4096
	what = strings.TrimSpace(what)
	if what == "" || len(what) > longest {
		return nil
	}
	if p, ok := imagePath(what); ok && !strings.ContainsAny(what, "\n\r") {
		return []string{p} // with spaces that nobody escaped
	}
	var out []string
	for _, word := range words(what) {
		p, ok := imagePath(word)
		if !ok {
			return nil
		}
		out = append(out, p)
	}
	return out
}

func imagePath(s string) (string, bool) {
	if len(s) > 1 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0] {
		s = s[1 : len(s)-1]
	}
	if u, err := url.Parse(s); err == nil && u.Scheme == "file" {
		s = u.Path
	}
	if !filepath.IsAbs(s) && !strings.HasPrefix(s, "~/") && !strings.HasPrefix(s, "./") && !strings.HasPrefix(s, "../") {
		return "", false
	}
	if strings.Contains(s, `\ `) || strings.ContainsAny(s, "'\"") {
		return "", false
	}
	switch strings.ToLower(filepath.Ext(s)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return s, len(words(s)) == 1 || !strings.Contains(s, " /")
	}
	return "", false
}

// words splits as a shell does.
func words(s string) []string {
	var out []string
	var word strings.Builder
	quote, escaped, any := rune(0), false, false
	for _, r := range s {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, any = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, any = r, true
		case quote == 0 && (r == ' ' || r == '\n' || r == '\r' || r == '\t'):
			if any {
				out = append(out, word.String())
				word.Reset()
				any = false
			}
		default:
			word.WriteRune(r)
			any = true
		}
	}
	if any {
		out = append(out, word.String())
	}
	return out
}
