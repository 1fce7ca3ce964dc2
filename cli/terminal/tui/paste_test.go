package tui

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// png is a whole image of one pixel.
const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"

func TestPaste_LongText_StandsAsALabelAndIsSentWhole(t *testing.T) {
	long := strings.Repeat("一行 of a log\r\n", 120) + "end"
	r := newRig(t, 60, 20)
	r.does(welcome())
	r.types("look: ")
	r.does(tea.PasteMsg{Content: long})
	r.types(" and")
	r.does(tea.PasteMsg{Content: "\tindented"})
	r.shows("pasted")
	r.types("<enter>")
	want := "look: " + strings.ReplaceAll(long, "\r\n", "\n") + " and\tindented"
	if len(r.talk.sent) != 1 || r.talk.sent[0] != want {
		t.Fatalf("sent %q", r.talk.sent)
	}
	r.does(user("t", want))
	r.shows("pasted-said")
}

func TestPaste_ShortText_IsTypedAndNotSent(t *testing.T) {
	r := newRig(t, 60, 20)
	r.does(welcome(), tea.PasteMsg{Content: "one\rtwo\x1b[31m\nthree"})
	if v := r.shell.model.input.area.Value(); v != "one\ntwo[31m\nthree" || len(r.talk.sent) > 0 {
		t.Errorf("typed %q, sent %q", v, r.talk.sent)
	}
}

func TestPaste_BackspaceAfterALabel_TakesAllOfIt(t *testing.T) {
	r := newRig(t, 60, 20)
	r.does(welcome())
	r.types("a ")
	r.does(tea.PasteMsg{Content: strings.Repeat("x\n", 50)})
	r.types("<backspace>")
	if v := r.shell.model.input.area.Value(); v != "a " {
		t.Errorf("left %q", v)
	}
}

func TestPaste_ImagePath_GoesAlongWithTheMessage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "my cat 猫.png")
	for name, data := range map[string]string{path: png, filepath.Join(dir, "no.png"): "text"} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := newRig(t, 60, 20)
	r.does(welcome())
	paste := func(what string) {
		todo := r.effects(tea.PasteMsg{Content: what})
		for _, e := range todo {
			if e, ok := e.(readImages); ok {
				r.does(findImages(e))
			}
		}
	}
	paste(strings.ReplaceAll(path, " ", `\ `) + " ")
	r.types("what is it?")
	r.shows("image")
	r.types("<enter>")
	if len(r.talk.sent) != 1 || r.talk.sent[0] != "[image 1: my cat 猫.png] what is it?" {
		t.Fatalf("sent %q", r.talk.sent)
	}
	if m := r.talk.media[0]; len(m) != 1 || m[0].Type != "image" || m[0].MIME != "image/png" || m[0].Data == "" {
		t.Errorf("media %+v", m)
	}
	for _, text := range []string{filepath.Join(dir, "no.png"), filepath.Join(dir, "gone.png")} {
		paste(text)
		if v := r.shell.model.input.area.Value(); v != text {
			t.Errorf("%s: typed %q", text, v)
		}
		r.shell.model.input.clear()
	}
	r.shell.model.maxBytes = 10
	paste(path)
	if r.shell.model.input.area.Value() != "" || r.shell.model.Blocks() == 0 {
		t.Error("an image that is too large was attached")
	}
	// A label that was deleted takes its image along.
	r.shell.model.maxBytes = 1 << 20
	paste(path)
	r.types("<backspace>", "<backspace>", "text", "<enter>")
	if n := len(r.talk.sent); r.talk.sent[n-1] != "text" || len(r.talk.media[n-1]) != 0 {
		t.Errorf("sent %q with %d images", r.talk.sent[n-1], len(r.talk.media[n-1]))
	}
}

func TestImagePaths_AsTerminalsWriteThem_AreFound(t *testing.T) {
	for pasted, want := range map[string][]string{
		"/a/b.png":                     {"/a/b.png"},
		" /a/b.PNG\n":                  {"/a/b.PNG"},
		"'/a/my b.jpg'":                {"/a/my b.jpg"},
		`"/a/my b.jpeg" /c.gif`:        {"/a/my b.jpeg", "/c.gif"},
		`/a/my\ b.webp`:                {"/a/my b.webp"},
		"/a/my b.png":                  {"/a/my b.png"},
		"/a.png /b.png":                {"/a.png", "/b.png"},
		"/a.png\n/b.png\n":             {"/a.png", "/b.png"},
		"file:///a/my%20b.png":         {"/a/my b.png"},
		"~/b.png":                      {"~/b.png"},
		"./b.png":                      {"./b.png"},
		"b.png":                        nil, // a word of a sentence
		"see /a/b.png":                 nil,
		"/a/b.png is broken":           nil,
		"/a/b.txt":                     nil,
		"https://x/b.png":              nil,
		"":                             nil,
		strings.Repeat("/a.png ", 900): nil,
	} {
		if got := imagePaths(pasted); !slices.Equal(got, want) {
			t.Errorf("%.30q: got %q, want %q", pasted, got, want)
		}
	}
}
