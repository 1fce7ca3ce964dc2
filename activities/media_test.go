package activities_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/llm"
	"picobot/internal/llm/picture"
	"picobot/store"
)

func TestCallModel_Images_AreReadWhenTheModelSees(t *testing.T) {
	for name, c := range map[string]struct {
		vision bool
		ref    chat.MediaRef
		images int
		text   string
	}{
		"file":               {true, chat.MediaRef{Type: "image", Path: "a.png", MIME: "image/png"}, 1, "look"},
		"url":                {true, chat.MediaRef{Type: "image", URL: "https://example.com/a.png"}, 1, "look"},
		"no vision":          {false, chat.MediaRef{Type: "image", Path: "a.png"}, 0, "cannot see images"},
		"no image":           {true, chat.MediaRef{Type: "image", Path: "a.svg"}, 0, "its format is not one that models take"},
		"gone":               {true, chat.MediaRef{Type: "image", Path: "gone.png"}, 0, "cannot be read"},
		"outside of its dir": {true, chat.MediaRef{Type: "image", Path: "../secret"}, 0, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.vision = c.vision
			pixels := onePixel(t)
			require.NoError(t, os.WriteFile(filepath.Join(f.dir, "a.png"), pixels, 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(f.dir, "a.svg"), []byte("<svg/>"), 0o600))
			a, err := f.record.Accept(t.Context(), store.Inbound{Channel: "cli", ChatID: "c", ExternalID: "1", SenderID: "me", Content: "look", Media: []chat.MediaRef{c.ref}})
			require.NoError(t, err)
			b := f.beginAgain(a.Turn.SessionID)
			_, err = f.ask(b.TurnID, 1)
			require.NoError(t, err)
			m := f.model.calls[0].Messages[1]
			require.Len(t, m.Images, c.images)
			require.Contains(t, m.Content, c.text)
			if name == "file" {
				require.Equal(t, pixels, m.Images[0].Data)
			}
		})
	}
}

// onePixel is a whole PNG, with this many bytes behind it that nobody reads.
func onePixel(t *testing.T, padding ...int) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, png.Encode(&out, image.NewGray(image.Rect(0, 0, 1, 1))))
	for _, n := range padding {
		out.Write(make([]byte, n))
	}
	return out.Bytes()
}

// What a model is shown is read for each attempt and made small enough each time.
func TestCallModel_AnImageThatIsTooLarge_IsMadeSmallerOnEveryAttempt(t *testing.T) {
	f := newFixture(t)
	f.vision = true
	var out bytes.Buffer
	require.NoError(t, png.Encode(&out, image.NewGray(image.Rect(0, 0, 3000, 30))))
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "wide.png"), out.Bytes(), 0o600))
	turn := f.beginWith("look", chat.MediaRef{Type: "image", Path: "wide.png", MIME: "image/png"}).TurnID
	answer := f.model.reply
	f.model.reply = func(ctx context.Context, req llm.Request, n int, onDelta func(llm.Delta)) (llm.Response, error) {
		if n == 1 {
			return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Model: "m", Message: "not this time"}
		}
		return answer(ctx, req, n, onDelta)
	}
	_, err := f.ask(turn, 1)
	require.Error(t, err)
	_, err = f.ask(turn, 1)
	require.NoError(t, err)
	require.Len(t, f.model.calls, 2)
	for _, call := range f.model.calls {
		shown := call.Messages[1].Images[0]
		size, _, err := image.DecodeConfig(bytes.NewReader(shown.Data))
		require.NoError(t, err)
		require.LessOrEqual(t, size.Width, picture.MaxSide)
		require.Equal(t, "image/jpeg", shown.MIME)
		require.Equal(t, f.model.calls[0].Messages[1].Images[0].Data, shown.Data, "the same bytes keep the prompt's cache good")
	}
}

// beginWith begins a turn whose message carries images.
func (f *fixture) beginWith(content string, refs ...chat.MediaRef) flow.Begun {
	f.Helper()
	a, err := f.record.Accept(f.Context(), store.Inbound{Channel: "cli", ChatID: "c", ExternalID: content, SenderID: "me", Content: content, Media: refs})
	require.NoError(f, err)
	return f.beginAgain(a.Turn.SessionID)
}

// shown returns of the last request the number of images shown and only mentioned,
// by the message they belong to.
func (f *fixture) shown() (images, mentioned map[string]int) {
	images, mentioned = map[string]int{}, map[string]int{}
	for _, m := range f.model.calls[len(f.model.calls)-1].Messages {
		if m.Role != chat.RoleUser {
			continue
		}
		name, _, _ := strings.Cut(m.Content, "\n")
		images[name], mentioned[name] = len(m.Images), strings.Count(m.Content, "it is not shown again")
	}
	return images, mentioned
}

func TestCallModel_ManyImages_TheNewestAreShownAndOlderOnesMentioned(t *testing.T) {
	f := newFixture(t)
	f.vision = true
	var four []chat.MediaRef
	for i := range 4 {
		name := fmt.Sprint(i, ".png")
		require.NoError(t, os.WriteFile(filepath.Join(f.dir, name), onePixel(t), 0o600))
		four = append(four, chat.MediaRef{Type: "image", Path: name, MIME: "image/png", Size: 3})
	}
	for _, content := range []string{"oldest", "older", "newer", "newest"} {
		_, err := f.ask(f.beginWith(content, four...).TurnID, 1)
		require.NoError(t, err)
	}
	images, mentioned := f.shown()
	require.Equal(t, map[string]int{"newest": 4, "newer": 4, "older": 2, "oldest": 0}, images)
	require.Equal(t, map[string]int{"newest": 0, "newer": 0, "older": 2, "oldest": 4}, mentioned)
}

func TestCallModel_LargeImages_TheNewestAreShownAndOlderOnesMentioned(t *testing.T) {
	f := newFixture(t)
	f.vision = true
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "large.png"), onePixel(t, 3_600_000), 0o600))
	large := chat.MediaRef{Type: "image", Path: "large.png", MIME: "image/png"}
	for _, content := range []string{"old", "new"} { // three of 3.6 MB each, of 20 MB together
		_, err := f.ask(f.beginWith(content, large, large, large).TurnID, 1)
		require.NoError(t, err)
	}
	images, mentioned := f.shown()
	require.Equal(t, map[string]int{"new": 3, "old": 2}, images)
	require.Equal(t, map[string]int{"new": 0, "old": 1}, mentioned)
}
