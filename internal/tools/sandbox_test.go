package tools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/tools"
	"picobot/internal/tools/proc"
)

// home is a PicoBot home with secrets in it, and its workspace.
type home struct {
	dir       string
	workspace *tools.Workspace
}

func newHome(t testing.TB) home {
	t.Helper()
	dir := filepath.Join(t.TempDir(), ".picobot")
	for name, content := range map[string]string{
		"config.json": "hunter2", "gateway.token": "hunter2", "temporal.key": "hunter2", "storage/sessions.db": "hunter2",
		"logs/a.log": "hunter2", "agent/AGENT.md": "hunter2", "media/a.png": "picture",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content+"\n"), 0o600))
	}
	w, err := tools.OpenWorkspace(filepath.Join(dir, "workspace"), true)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return home{dir: dir, workspace: w}
}

func (h home) sandbox() tools.Sandbox {
	return tools.Sandbox{
		Support: proc.ConfinementSupport(),
		Hide:    []string{h.dir},
		Read:    func() []string { return []string{filepath.Join(h.dir, "media")} },
	}
}

func (h home) bash(s tools.Sandbox) tools.Tool {
	return tools.Bash(h.workspace, tools.BashOptions{Sandbox: &s})
}

// from runs a command for a channel.
func from(t testing.TB, tool tools.Tool, channel, command string) tools.Result {
	t.Helper()
	return registry(t, tools.Options{}, tool).Run(t.Context(), tools.Call{Channel: channel}, "bash", `{"command":`+quoted(command)+`}`)
}

func TestBash_Confined_SeesTheWorkspaceAndMediaOfTheHomeOnly(t *testing.T) {
	h := newHome(t)
	require.True(t, h.sandbox().State(h.workspace.Dir()).Confined, "these tests need Landlock")
	for _, channel := range []string{chat.ChannelCLI, chat.ChannelFeishu} {
		got := requireOK(t, from(t, h.bash(h.sandbox()), channel, `cat ../config.json ../gateway.token ../temporal.key ../storage/* ../logs/* ../agent/*; ls ..; cat ../media/a.png; echo x >mine; cat mine; echo y >../new; f=$(mktemp) && echo z >$f && cat $f; true`))
		require.NotContains(t, got, "hunter2")
		require.NotContains(t, got, "temporal.db")
		for _, line := range []string{"picture\n", "\nx\n", "\nz\n"} {
			require.Contains(t, got, line)
		}
		require.NoFileExists(t, filepath.Join(h.dir, "new"))
	}
}

func TestBash_ASandboxWithAMissingReadable_RunsAllTheSame(t *testing.T) {
	h := newHome(t)
	s := h.sandbox()
	s.Read = func() []string { return []string{filepath.Join(h.dir, "none"), h.dir, "/"} }
	got := requireOK(t, from(t, h.bash(s), chat.ChannelFeishu, `cat ../config.json; echo ran`))
	require.NotContains(t, got, "hunter2")
	require.Contains(t, got, "ran\n")
}

func TestBash_WhereNothingCanBeConfined_RunsForTheTerminalOnly(t *testing.T) {
	h := newHome(t)
	s := h.sandbox()
	s.Support = proc.Support{Reason: "this kernel has no Landlock"}
	require.Equal(t, tools.SandboxState{Reason: "this kernel has no Landlock"}, s.State(h.workspace.Dir()))
	for _, channel := range []string{chat.ChannelFeishu, ""} {
		requireError(t, from(t, h.bash(s), channel, "echo ran"), "commands are not run in this chat, because they cannot be confined here: this kernel has no Landlock. Use the file tools, or ask the operator, who can allow it with tools.bash.allow_unconfined")
	}
	require.Equal(t, "ran\n", requireOK(t, from(t, h.bash(s), chat.ChannelCLI, "echo ran")))
	s.AllowUnconfined = true
	require.Equal(t, "ran\n", requireOK(t, from(t, h.bash(s), chat.ChannelFeishu, "echo ran")))
}

func TestBash_WhereTheKernelIsTooOld_IsConfinedAsFarAsItGoes(t *testing.T) {
	h := newHome(t)
	s := h.sandbox()
	s.Support.Reason = "too old"
	requireError(t, from(t, h.bash(s), chat.ChannelFeishu, "echo ran"), "too old")
	require.NotContains(t, requireOK(t, from(t, h.bash(s), chat.ChannelCLI, "cat ../config.json")), "hunter2")
}

func TestSandbox_AWorkspaceThatHoldsTheHome_IsNotConfinedAndSaysWhy(t *testing.T) {
	h := newHome(t)
	s := h.sandbox()
	state := s.State(filepath.Dir(h.dir))
	require.False(t, state.Confined)
	require.Contains(t, state.Reason, "holds .picobot, which commands must not see")
	s.Hide = append(s.Hide, filepath.Join(h.workspace.Dir(), "config.json"))
	require.Contains(t, s.State(h.workspace.Dir()).Reason, "workspace holds config.json")
	requireError(t, from(t, h.bash(s), chat.ChannelFeishu, "echo ran"), "workspace holds config.json")
}

func TestSandbox_Gaps_AreTold(t *testing.T) {
	h := newHome(t)
	s := h.sandbox()
	s.Support.Gaps = []string{"a gap"}
	require.Equal(t, []string{"a gap"}, s.State(h.workspace.Dir()).Gaps)
}

// A home among the temporary files closes them; commands get some in the workspace.
func TestBash_Confined_AlwaysHasTemporaryFiles(t *testing.T) {
	h := newHome(t)
	s := h.sandbox()
	tool := tools.Bash(h.workspace, tools.BashOptions{Sandbox: &s, LookupEnv: func(name string) (string, bool) {
		return filepath.Dir(h.dir), name == "TMPDIR"
	}})
	got := requireOK(t, from(t, tool, chat.ChannelFeishu, `echo $TMPDIR; f=$(mktemp) && echo z >$f && cat $f`))
	require.Equal(t, filepath.Join(h.workspace.Dir(), ".picobot/tmp")+"\nz\n", got)
	for _, tmp := range []string{"", "relative", "/"} {
		tool := tools.Bash(h.workspace, tools.BashOptions{Sandbox: &s, LookupEnv: func(name string) (string, bool) { return tmp, name == "TMPDIR" }})
		got := requireOK(t, from(t, tool, chat.ChannelFeishu, `echo y >../y; echo x >/picobot-test; f=$(mktemp) && echo z >$f && cat $f`))
		require.True(t, strings.HasSuffix(got, "z\n"), got)
		require.NoFileExists(t, filepath.Join(h.dir, "y"))
		require.NoFileExists(t, "/picobot-test")
	}
}
