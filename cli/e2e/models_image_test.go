package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // what large images become
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picobot/internal/protocol"
	"picobot/internal/testkit/fakeanthropic"
	"picobot/internal/testkit/fakeopenai"
	"picobot/internal/testkit/harness"
)

// photo is a PNG that no model looks at as it is.
func photo(t *testing.T) []byte {
	t.Helper()
	img := image.NewPaletted(image.Rect(0, 0, 4096, 256), color.Palette{color.White, color.Black})
	for i := range img.Pix {
		img.Pix[i] = byte(i*i>>7) & 1
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sides decodes what an endpoint was sent.
func sides(t *testing.T, inBase64 string) string {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(inBase64)
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%dx%d", c.Width, c.Height)
}

func TestImagesReachModelsThatSeeScaledDownAndAnewWithEachAttempt(t *testing.T) {
	m := newModels(t, fakeopenai.Config{}, nil)
	big := photo(t)
	if err := os.MkdirAll(m.h.Workspace(), 0o700); err != nil {
		t.Fatal(err)
	}
	m.h.WriteFile(filepath.Join(m.h.Workspace(), "plan.png"), string(big))
	const link = "https://example.com/cat.png"
	media := []protocol.Media{
		{Type: "image", Data: base64.StdEncoding.EncodeToString(big), MIME: "image/png"},
		{Type: "image", Path: "plan.png"},
		{Type: "image", URL: link},
	}
	// In what order, of what source and how large: what each endpoint was sent.
	openAI := func(r fakeopenai.Request) (out []string) {
		for _, msg := range r.Messages {
			for _, url := range msg.Images {
				if kind, data, ok := strings.Cut(url, ";base64,"); ok && strings.HasPrefix(kind, "data:image/") {
					url = sides(t, data)
				}
				out = append(out, url)
			}
		}
		return out
	}
	anthropic := func(r fakeanthropic.Request) (out []string) {
		for _, msg := range r.Messages {
			for _, b := range msg.Of("image") {
				if b.URL != "" {
					out = append(out, b.URL)
					continue
				}
				out = append(out, sides(t, b.Data))
			}
		}
		return out
	}
	want := []string{"2048x128", "2048x128", link}

	m.gpt.Enqueue(fakeopenai.Error{Status: 500, Header: soon()}, fakeopenai.Reply{Text: "a plan and a cat"})
	c := m.chat("gpt")
	turn := m.ask(c, "what is this?", media...)
	same(t, "the answer", []string{m.reply(turn)}, "a plan and a cat")
	requests := m.gpt.Requests()
	same(t, "sent to gpt", openAI(requests[0]), want...)
	same(t, "sent to gpt again", openAI(requests[1]), want...)

	m.claude.Enqueue(fakeanthropic.Error{Status: 529, Header: soon()}, fakeanthropic.Reply{Text: "a plan and a cat"})
	cc := m.chat("claude")
	turn = m.ask(cc, "", media...)
	same(t, "the answer", []string{m.reply(turn)}, "a plan and a cat")
	same(t, "sent to claude", anthropic(m.claude.Requests()[0]), want...)
	same(t, "sent to claude again", anthropic(m.claude.Requests()[1]), want...)

	// What the record and clients have is where it is, not what it is.
	same(t, "references", m.h.Record(`SELECT json_array_length(media_refs), json_extract(media_refs, '$[0].path') = json_extract(media_refs, '$[1].path'),
		json_extract(media_refs, '$[0].mime'), json_extract(media_refs, '$[2].url') FROM messages WHERE role = 'user'`), "3|1|image/png|"+link, "3|1|image/png|"+link)
	for _, f := range harness.Of[protocol.Message](c) {
		if f.Role == "user" && (len(f.Media) != 3 || f.Media[0].Path == "" || f.Media[0].Size != int64(len(big))) {
			t.Errorf("the client was shown %+v", f.Media)
		}
	}
	stored := m.h.Record(`SELECT json_extract(media_refs, '$[0].path') FROM messages WHERE role = 'user' LIMIT 1`)[0]
	if kept, err := os.ReadFile(filepath.Join(m.h.Home, "media", stored)); err != nil || !bytes.Equal(kept, big) {
		t.Errorf("the original is not kept: %v", err)
	}

	// A model that cannot see is told that there was something, and by a later message,
	// once the files are gone, so is one that can.
	turn = m.ask(m.chat("blind"), "what is this?", media...)
	last := m.gpt.Requests()[m.gpt.Count()-1]
	if n := len(openAI(last)); n > 0 || strings.Count(last.LastUser(), "cannot see images") != 3 {
		t.Errorf("%d images, %q", n, last.LastUser())
	}
	if turn.Status != protocol.TurnCompleted {
		t.Errorf("%+v", turn)
	}
	if err := os.Remove(filepath.Join(m.h.Home, "media", stored)); err != nil {
		t.Fatal(err)
	}
	turn = m.ask(c, "and now?")
	last = m.gpt.Requests()[m.gpt.Count()-1]
	same(t, "sent once the files are gone", openAI(last), link)
	if raw := string(last.Raw); strings.Count(raw, "cannot be read any more") != 2 || turn.Status != protocol.TurnCompleted {
		t.Errorf("%+v: %.500s", turn, raw)
	}
	m.valid()

	m.g.Stop()
	inBase64, pixels := []byte(base64.StdEncoding.EncodeToString(big)[:200]), big[len(big)/2:len(big)/2+100]
	err := filepath.WalkDir(m.h.Home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "/media/") || strings.Contains(path, "/workspace/") {
			return err
		}
		if text, err := os.ReadFile(path); err == nil && (bytes.Contains(text, inBase64) || bytes.Contains(text, pixels)) {
			t.Errorf("%s holds the image", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestImageThatIsNoneIsRefusedAndTheNextMessageIsNot(t *testing.T) {
	m := newModels(t, fakeopenai.Config{}, nil)
	c := m.chat("gpt")
	for id, media := range map[string]protocol.Media{
		"text":    {Type: "image", Data: base64.StdEncoding.EncodeToString([]byte("not an image"))},
		"outside": {Type: "image", Path: "../gateway.token"},
		"nothing": {Type: "image"},
		"file":    {Type: "image", URL: "file:///etc/passwd"},
		"sound":   {Type: "audio", URL: "https://example.com/a.wav"},
	} {
		c.Write(protocol.UserMessage{ID: id, Content: "look", Media: []protocol.Media{media}})
		harness.Expect(c, "refusal of "+id, func(e protocol.Error) bool { return e.ID == id && e.Code == protocol.CodeBadMedia && e.Message != "" })
	}
	turn := m.ask(c, "look")
	same(t, "the next message", []string{m.reply(turn)}, "echo: look")
	same(t, "messages", m.h.Record(`SELECT count(*) FROM inbound_messages`), "1")
	m.valid()
}
