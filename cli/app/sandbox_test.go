package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/config"
	"picobot/internal/home"
	"picobot/internal/tools"
)

func TestCommandSandbox_TheHomeAndEveryFileWithKeys_AreHiddenFromCommands(t *testing.T) {
	base := t.TempDir()
	h, err := home.Open(filepath.Join(base, "home"))
	require.NoError(t, err)
	_, err = h.Token()
	require.NoError(t, err)
	file, key := filepath.Join(base, "elsewhere.json"), filepath.Join(base, "client.key")
	require.NoError(t, os.WriteFile(key, []byte("hunter2\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(h.MediaDir(), "a.txt"), []byte("seen\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(base, "other.txt"), []byte("other\n"), 0o600))
	require.NoError(t, os.WriteFile(file, []byte(`{
		"providers": {"p": {"type": "openai", "api_key": "hunter2"}}, "models": {"m": {"provider": "p", "model": "m"}},
		"agents": {"default": {"model": "m"}},
		"temporal": {"mode": "external", "tls": {"enabled": true, "cert_file": "`+key+`", "key_file": "`+key+`"}}}`), 0o600))
	cfg, err := config.Load(config.Source{Home: h.Dir, File: file})
	require.NoError(t, err)

	s := CommandSandbox(h, cfg, nil)
	require.True(t, s.State(cfg.Workspace).Confined, "this test needs Landlock")
	require.False(t, s.AllowUnconfined)
	w, err := tools.OpenWorkspace(cfg.Workspace, true)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	r, err := tools.NewRegistry(tools.Options{}, tools.Bash(w, tools.BashOptions{Sandbox: &s}))
	require.NoError(t, err)
	result := r.Run(t.Context(), tools.Call{Channel: chat.ChannelFeishu}, "bash",
		`{"command":"cat ../../elsewhere.json ../../client.key ../gateway.token; cat ../media/a.txt ../../other.txt"}`)
	require.NotContains(t, result.Content, "hunter2")
	require.Equal(t, 3, strings.Count(result.Content, "Permission denied"), result.Content)
	require.Contains(t, result.Content, "seen\nother\n")

	for _, inside := range []string{h.Dir, h.StorageDir(), h.TemporalDir(), base} {
		require.False(t, s.State(inside).Confined, "a workspace at %s would open what is hidden", filepath.Base(inside))
	}
}
