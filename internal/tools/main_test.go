package tools_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"picobot/internal/tools"
	"picobot/internal/tools/proc"
)

func TestMain(m *testing.M) {
	proc.Main()
	goleak.VerifyTestMain(m)
}

// openWorkspace returns a restricted workspace in a directory that has a
// neighbour, secret.txt, which no tool may reach.
func openWorkspace(t testing.TB) *tools.Workspace {
	t.Helper()
	return openWorkspaceAt(t, true)
}

func openWorkspaceAt(t testing.TB, restricted bool) *tools.Workspace {
	t.Helper()
	base := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(base, "secret.txt"), []byte("secret\n"), 0o600))
	w, err := tools.OpenWorkspace(filepath.Join(base, "ws"), restricted)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

func put(t testing.TB, w *tools.Workspace, name, content string) string {
	t.Helper()
	path := filepath.Join(w.Dir(), name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

func content(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func registry(t testing.TB, opts tools.Options, list ...tools.Tool) *tools.Registry {
	t.Helper()
	r, err := tools.NewRegistry(opts, list...)
	require.NoError(t, err)
	return r
}

// call runs one tool, with arguments as a model writes them.
func call(t testing.TB, tool tools.Tool, args map[string]any) tools.Result {
	t.Helper()
	text, err := json.Marshal(args)
	require.NoError(t, err)
	return registry(t, tools.Options{}, tool).Run(context.Background(), tools.Call{}, tool.Name(), string(text))
}

type args = map[string]any

func requireOK(t testing.TB, r tools.Result) string {
	t.Helper()
	require.False(t, r.Failed, r.Content)
	return r.Content
}

func requireError(t testing.TB, r tools.Result, says string) {
	t.Helper()
	require.True(t, r.Failed, r.Content)
	require.Regexp(t, `^Error: \S`, r.Content)
	require.Contains(t, r.Content, says)
}
