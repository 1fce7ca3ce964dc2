package gateway

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/protocol"
)

// png is enough of a PNG to be known as one.
const png = "\x89PNG\r\n\x1a\n and so on"

func newKeeper(t *testing.T) mediaKeeper {
	return mediaKeeper{dir: t.TempDir(), workspace: t.TempDir(), maxBytes: 1000, now: time.Now}
}

func inline(data string) protocol.Media {
	return protocol.Media{Type: "image", Data: base64.StdEncoding.EncodeToString([]byte(data))}
}

func TestAttachmentsAreKeptByTheirContents(t *testing.T) {
	k := newKeeper(t)
	require.NoError(t, os.WriteFile(filepath.Join(k.workspace, "a.png"), []byte(png), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(k.workspace, "b.jpg"), []byte("\xff\xd8\xff rest"), 0o600))
	refs, bad, err := k.keep([]protocol.Media{
		inline(png),
		{Type: "image", Path: "a.png", MIME: "image/jpeg"}, // what is in it counts
		{Type: "image", Path: filepath.Join(k.workspace, "b.jpg")},
		{Type: "image", URL: "https://example.com/x.png", MIME: "image/png"},
	})
	require.NoError(t, bad)
	require.NoError(t, err)
	require.Equal(t, chat.MediaRef{Type: "image", Path: refs[0].Path, MIME: "image/png", Size: int64(len(png))}, refs[0])
	require.Equal(t, refs[0].Path, refs[1].Path)
	require.Equal(t, "a.png", refs[1].Name)
	require.Equal(t, "image/jpeg", refs[2].MIME)
	require.Equal(t, chat.MediaRef{Type: "image", URL: "https://example.com/x.png", MIME: "image/png"}, refs[3])

	kept, err := os.ReadFile(filepath.Join(k.dir, refs[0].Path))
	require.NoError(t, err)
	require.Equal(t, png, string(kept))
	files, err := os.ReadDir(k.dir)
	require.NoError(t, err)
	require.Len(t, files, 2, "no leftovers")
	info, err := files[0].Info()
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestBrokenFileIsReplaced(t *testing.T) {
	k := newKeeper(t)
	refs, _, err := k.keep([]protocol.Media{inline(png)})
	require.NoError(t, err)
	path := filepath.Join(k.dir, refs[0].Path)
	require.NoError(t, os.WriteFile(path, []byte("half"), 0o600))
	_, _, err = k.keep([]protocol.Media{inline(png)})
	require.NoError(t, err)
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, png, string(kept))
}

func TestBadAttachmentsAreRefused(t *testing.T) {
	k := newKeeper(t)
	outside := filepath.Join(t.TempDir(), "secret.png")
	require.NoError(t, os.WriteFile(outside, []byte(png), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(k.workspace, "link.png")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(k.workspace, "dir")))
	require.NoError(t, os.Mkdir(filepath.Join(k.workspace, "folder"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(k.workspace, "pipe"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(k.workspace, "text.png"), []byte("hello"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(k.workspace, "large.png"), []byte(png+strings.Repeat("x", 1000)), 0o600))
	for name, m := range map[string]protocol.Media{
		"unknown type":             {Type: "video", URL: "https://example.com"},
		"nothing":                  {Type: "image"},
		"two at once":              {Type: "image", URL: "https://example.com", Path: "text.png"},
		"no base64":                {Type: "image", Data: "%%%"},
		"no image":                 inline("hello"),
		"empty":                    inline("\n"),
		"svg":                      inline("<svg xmlns='http://www.w3.org/2000/svg'/>"),
		"too large":                inline(png + strings.Repeat("x", 1000)),
		"file url":                 {Type: "image", URL: "file:///etc/passwd"},
		"url without host":         {Type: "image", URL: "https://"},
		"url that is none":         {Type: "image", URL: "http://[::1"},
		"data url":                 {Type: "image", URL: "data:image/png;base64,AA=="},
		"url of something else":    {Type: "image", URL: "https://example.com", MIME: "text/html"},
		"path that leads out":      {Type: "image", Path: "../" + filepath.Base(filepath.Dir(outside)) + "/secret.png"},
		"absolute path outside":    {Type: "image", Path: outside},
		"link that leads out":      {Type: "image", Path: "link.png"},
		"folder that leads out":    {Type: "image", Path: "dir/secret.png"},
		"no such file":             {Type: "image", Path: "none.png"},
		"a folder":                 {Type: "image", Path: "folder"},
		"the workspace":            {Type: "image", Path: k.workspace},
		"a pipe":                   {Type: "image", Path: "pipe"},
		"a text file":              {Type: "image", Path: "text.png"},
		"a file that is too large": {Type: "image", Path: "large.png"},
	} {
		t.Run(name, func(t *testing.T) {
			refs, bad, err := k.keep([]protocol.Media{m})
			require.NoError(t, err)
			require.Error(t, bad)
			require.ErrorContains(t, bad, "attachment 1")
			require.Nil(t, refs)
		})
	}
	files, err := os.ReadDir(k.dir)
	require.NoError(t, err)
	require.Empty(t, files)
}

func TestMediaDirThatIsGoneIsOurFault(t *testing.T) {
	k := newKeeper(t)
	k.dir = filepath.Join(k.dir, "gone")
	_, bad, err := k.keep([]protocol.Media{inline(png)})
	require.NoError(t, bad)
	require.Error(t, err)
}

func TestMessageCarriesItsAttachments(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	p.send(protocol.UserMessage{ID: "1", Content: "look", Media: []protocol.Media{{Type: "image", Path: "/etc/passwd"}}})
	p.until(func(f protocol.ServerFrame) bool {
		e, ok := f.(protocol.Error)
		return ok && e.ID == "1" && e.Code == protocol.CodeBadMedia
	})
	p.send(protocol.UserMessage{ID: "1", Media: []protocol.Media{inline(png)}})
	require.False(t, expect[protocol.Accepted](p).Duplicate, "what was refused was not accepted")
	r.begin(w.SessionID)
	frames := p.until(isRow("user"))
	row := frames[len(frames)-1].(protocol.Message)
	require.Len(t, row.Media, 1)
	_, err := os.Stat(filepath.Join(r.opts.MediaDir, row.Media[0].Path))
	require.NoError(t, err)
	b, err := json.Marshal(row)
	require.NoError(t, err)
	require.NotContains(t, string(b), r.opts.MediaDir, "clients need not know where the home is")
}
