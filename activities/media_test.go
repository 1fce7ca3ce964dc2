package activities_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/flow"
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
		"gone":               {true, chat.MediaRef{Type: "image", Path: "gone.png"}, 0, "cannot be read"},
		"outside of its dir": {true, chat.MediaRef{Type: "image", Path: "../secret"}, 0, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.vision = c.vision
			require.NoError(t, os.WriteFile(filepath.Join(f.dir, "a.png"), []byte("png"), 0o600))
			a, err := f.record.Accept(t.Context(), store.Inbound{Channel: "cli", ChatID: "c", ExternalID: "1", SenderID: "me", Content: "look", Media: []chat.MediaRef{c.ref}})
			require.NoError(t, err)
			b := f.beginAgain(a.Turn.SessionID)
			_, err = f.ask(b.TurnID, 1)
			require.NoError(t, err)
			m := f.model.calls[0].Messages[1]
			require.Len(t, m.Images, c.images)
			require.Contains(t, m.Content, c.text)
			if name == "file" {
				require.Equal(t, []byte("png"), m.Images[0].Data)
			}
		})
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
		require.NoError(t, os.WriteFile(filepath.Join(f.dir, name), []byte("png"), 0o600))
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
	for name, size := range map[string]int64{"size known": 11 << 20, "size unknown": 0} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.vision = true
			path := filepath.Join(f.dir, "large.png")
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			require.NoError(t, os.Truncate(path, 11<<20))
			for _, content := range []string{"old", "new"} {
				_, err := f.ask(f.beginWith(content, chat.MediaRef{Type: "image", Path: "large.png", MIME: "image/png", Size: size}).TurnID, 1)
				require.NoError(t, err)
			}
			images, mentioned := f.shown()
			require.Equal(t, map[string]int{"new": 1, "old": 0}, images)
			require.Equal(t, map[string]int{"new": 0, "old": 1}, mentioned)
		})
	}
}
