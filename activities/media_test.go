package activities_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
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
