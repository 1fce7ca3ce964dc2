package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"picobot/internal/tools"
)

func bash(w *tools.Workspace) tools.Tool { return tools.Bash(w, tools.BashOptions{}) }

func TestBashReturnsOutputAndStatus(t *testing.T) {
	w := openWorkspace(t)
	put(t, w, "sub/file.txt", "x")
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"command": "echo hello"}, "hello\n"},
		{args{"command": "echo out; echo err >&2; echo out"}, "out\nerr\nout\n"},
		{args{"command": "true"}, "(no output)"},
		{args{"command": "false"}, "(no output)\n[exit status 1]"},
		{args{"command": "echo no; exit 3"}, "no\n[exit status 3]"},
		{args{"command": "no-such-command-here"}, "no-such-command-here: command not found\n[exit status 127]"},
		{args{"command": "kill -9 $$"}, "(no output)\n[ended by signal: killed]"},
		{args{"command": "if ["}, "[exit status 2]"},
		{args{"command": "pwd"}, w.Dir() + "\n"},
		{args{"command": "pwd; ls", "workdir": "sub"}, w.Dir() + "/sub\nfile.txt\n"},
		{args{"command": "pwd", "workdir": w.Dir() + "/sub"}, w.Dir() + "/sub\n"},
		{args{"command": "pwd", "workdir": "."}, w.Dir() + "\n"},
		{args{"command": "cd ~; pwd"}, w.Dir() + "\n"},
		{args{"command": "cat"}, "(no output)"}, // no input
		{args{"command": "echo 飞书 | tee a.txt; cat a.txt"}, "飞书\n飞书\n"},
		{args{"command": "printf 'a\\xffb\\0'"}, "a\uFFFDb\uFFFD"},
		{args{"command": "shopt -q login_shell || echo no login; echo $-"}, "no login\nhBc\n"},
		{args{"command": "[[ a == a ]] && echo bash", "timeout_seconds": 5}, "bash\n"},
		{args{"command": "sleep 1000 & echo started"}, "started\n"},
	} {
		got := requireOK(t, call(t, bash(w), c.args))
		if strings.HasPrefix(c.want, w.Dir()) || !strings.Contains(got, ": line ") && !strings.Contains(got, "syntax") {
			require.Equal(t, c.want, got, "%v", c.args)
		} else {
			require.True(t, strings.HasSuffix(got, c.want), "%v: %s", c.args, got)
		}
	}
}

func TestBashRefusesWhatItCannotRun(t *testing.T) {
	w := openWorkspace(t)
	put(t, w, "file.txt", "x")
	require.NoError(t, os.Symlink("..", filepath.Join(w.Dir(), "up")))
	tool := tools.Bash(w, tools.BashOptions{MaxTimeout: 10 * time.Second})
	for want, a := range map[string]args{
		"the command is empty":                 {"command": " \n"},
		"too long (100001 bytes":               {"command": strings.Repeat("x", 100001)},
		"NUL":                                  {"command": "echo \x00"},
		"at most 10 is allowed":                {"command": "echo", "timeout_seconds": 11},
		`"timeout_seconds" must be at least 0`: {"command": "echo", "timeout_seconds": -1},
		`"timeout_seconds" is out of range`:    {"command": "echo", "timeout_seconds": 1e30},
		"none does not exist":                  {"command": "echo", "workdir": "none"},
		"workdir file.txt is not a dir":        {"command": "echo", "workdir": "file.txt"},
		`".." is outside the workspace`:        {"command": "echo", "workdir": ".."},
		`"up" is outside the workspace`:        {"command": "echo", "workdir": "up"},
		`"/" is outside the workspace`:         {"command": "echo", "workdir": "/"},
		`missing argument "command"`:           {},
		`"command" must be a string, not an`:   {"command": []string{"ls"}},
	} {
		requireError(t, call(t, tool, a), want)
	}
}

func TestBashRunsTheLongestCommand(t *testing.T) {
	w := openWorkspace(t)
	command := "echo " + strings.Repeat("x", 99987) + " | wc -c"
	require.Len(t, command, 100000)
	require.Equal(t, "99988", strings.TrimSpace(requireOK(t, call(t, bash(w), args{"command": command}))))
}

func TestBashSeesOnlyAnAllowedEnvironment(t *testing.T) {
	w := openWorkspace(t)
	t.Setenv("TOOLS_TEST_SECRET", "hunter2")
	t.Setenv("TOOLS_TEST_ALLOWED", "fine")
	t.Setenv("BASH_ENV", put(t, w, "bashenv", "echo was read"))
	t.Setenv("TZ", "Asia/Tokyo")
	tool := tools.Bash(w, tools.BashOptions{EnvAllow: []string{"TOOLS_TEST_ALLOWED", "TOOLS_TEST_MISSING"}})
	got := requireOK(t, call(t, tool, args{"command": `env | cut -d= -f1 | sort | tr '\n' ' '; echo; env; cat /proc/$$/environ /proc/$PPID/environ | tr '\0' '\n'`}))
	names, _, _ := strings.Cut(got, "\n")
	for _, name := range strings.Fields(names) {
		require.Contains(t, []string{"HOME", "LANG", "PATH", "PWD", "SHELL", "SHLVL", "TERM", "TZ", "USER", "TMPDIR", "_",
			"PICOBOT_RUN", "TOOLS_TEST_ALLOWED"}, name)
	}
	require.NotContains(t, got, "hunter2")
	require.NotContains(t, got, "was read")
	require.Contains(t, got, "TOOLS_TEST_ALLOWED=fine\n")
	require.Contains(t, got, "HOME="+w.Dir()+"\n")
	require.Contains(t, got, "TERM=dumb\n")
	require.Contains(t, got, "TZ=Asia/Tokyo\n")

	tool = tools.Bash(w, tools.BashOptions{LookupEnv: func(string) (string, bool) { return "", false }})
	require.Contains(t, requireOK(t, call(t, tool, args{"command": "ls -d /; echo $LANG"})), "/\nC.UTF-8\n")
}

func TestBashKeepsHeadAndTailOfLongOutput(t *testing.T) {
	w := openWorkspace(t)
	r := registry(t, tools.Options{MaxResultChars: 4000, Spill: w.Spill}, tools.Bash(w, tools.BashOptions{MaxResultChars: 4000}))
	got := requireOK(t, r.Run(t.Context(), tools.Call{}, "bash", `{"command":"echo HEAD; for i in $(seq 100000); do echo 飞书 $i; done; echo TAIL; exit 7"}`))
	require.LessOrEqual(t, utf8.RuneCountInString(got), 4000)
	require.True(t, strings.HasPrefix(got, "HEAD\n飞书 1\n"), got)
	require.True(t, strings.HasSuffix(got, "飞书 100000\nTAIL\n[exit status 7]"), got)
	require.NotContains(t, got, "\uFFFD")
	require.Equal(t, 1, strings.Count(got, "left out"))
	var left int
	var path string
	_, err := fmt.Sscanf(got[strings.Index(got, "[..."):], "[... %d bytes left out; the whole is in %s ...]", &left, &path)
	require.NoError(t, err)
	whole := content(t, filepath.Join(w.Dir(), path))
	require.True(t, strings.HasPrefix(whole, "HEAD\n飞书 1\n"))
	require.True(t, strings.HasSuffix(whole, "\n飞书 100000\nTAIL\n"))
	require.Equal(t, 100002, strings.Count(whole, "\n"))
	head, tail, _ := strings.Cut(strings.TrimSuffix(got, "[exit status 7]"), fmt.Sprintf("\n[... %d bytes left out; the whole is in %s ...]\n", left, path))
	require.Equal(t, len(whole), len(head)+len(tail)+left)
}

func TestBashBoundsHugeOutput(t *testing.T) {
	w := openWorkspace(t)
	got := requireOK(t, call(t, bash(w), args{"command": "head -c 80000000 /dev/zero | tr '\\0' x; echo END"}))
	require.True(t, strings.HasSuffix(got, "xEND\n"))
	require.Contains(t, got, "(its first 64.0 MiB)")
	files, err := filepath.Glob(filepath.Join(w.Dir(), ".picobot/output/bash-*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	require.EqualValues(t, 64<<20, info.Size())
	require.Equal(t, os.FileMode(0o600), info.Mode())
}

func TestBashOutputNeverLeavesTheWorkspace(t *testing.T) {
	w := openWorkspace(t)
	outside := filepath.Dir(w.Dir())
	got := requireOK(t, call(t, bash(w), args{"command": "rm -rf .picobot; ln -s .. .picobot; seq 100000"}))
	require.Contains(t, got, "bytes left out ...]")
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, entries, 2)
}

func TestOnlyTheNewestOutputsAreKept(t *testing.T) {
	w := openWorkspace(t)
	var newest string
	for range 250 {
		path, err := w.Spill(tools.Call{}, "bash", "x")
		require.NoError(t, err)
		newest = path
	}
	entries, err := os.ReadDir(filepath.Join(w.Dir(), ".picobot/output"))
	require.NoError(t, err)
	require.LessOrEqual(t, len(entries), 202)
	require.Equal(t, "x", content(t, filepath.Join(w.Dir(), newest)))
}

func TestBashEndsAtItsTimeLimit(t *testing.T) {
	w := openWorkspace(t)
	result := call(t, bash(w), args{"command": "echo before; sleep 1000", "timeout_seconds": 1})
	requireError(t, result, "timed out after 1s and was ended (timeout_seconds may be up to 3600)\nOutput so far:\nbefore\n")
	tool := tools.Bash(w, tools.BashOptions{Timeout: time.Hour, MaxTimeout: 200 * time.Millisecond})
	require.Equal(t, "Error: timed out after 200ms and was ended\n(no output so far)", call(t, tool, args{"command": "sleep 1000"}).Content)
}

func TestBashSaysWhoStoppedIt(t *testing.T) {
	w := openWorkspace(t)
	for _, cause := range []error{tools.ErrCancelled, tools.ErrShutdown, context.Canceled} {
		started := make(chan struct{})
		var once sync.Once
		ctx, cancel := context.WithCancelCause(t.Context())
		var stopped time.Time
		go func() {
			<-started
			stopped = time.Now()
			cancel(cause)
		}()
		c := tools.Call{Progress: func(string) { once.Do(func() { close(started) }) }}
		result := registry(t, tools.Options{}, bash(w)).Run(ctx, c, "bash", `{"command":"echo before; trap '' TERM; sleep 1000; sleep 1000"}`)
		require.Less(t, time.Since(stopped), 2*time.Second)
		requireError(t, result, cause.Error())
		require.True(t, strings.HasSuffix(result.Content, "\nOutput so far:\nbefore\n"), result.Content)
	}
}

func TestNothingThatBashStartedSurvivesIt(t *testing.T) {
	w := openWorkspace(t)
	for name, command := range map[string]string{
		"end":   `setsid bash -c 'echo $$ >pid; exec sleep 1000' & while ! [ -s pid ]; do sleep 0.01; done`,
		"limit": `setsid bash -c 'echo $$ >pid; trap "" TERM; sleep 1000; sleep 1000' & sleep 1000`,
	} {
		require.NoError(t, os.RemoveAll(filepath.Join(w.Dir(), "pid")))
		call(t, bash(w), args{"command": command, "timeout_seconds": 2})
		pid, err := strconv.Atoi(strings.TrimSpace(content(t, filepath.Join(w.Dir(), "pid"))))
		require.NoError(t, err)
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, name)
	}
}

func TestBashMarksWhatItStartsWithTheCallsID(t *testing.T) {
	w := openWorkspace(t)
	result := registry(t, tools.Options{}, bash(w)).Run(t.Context(), tools.Call{ID: "01RUN"}, "bash", `{"command":"echo $PICOBOT_RUN"}`)
	require.Equal(t, "01RUN\n", requireOK(t, result))
}

func TestBashReportsProgress(t *testing.T) {
	w := openWorkspace(t)
	var lines []string
	c := tools.Call{Progress: func(line string) { lines = append(lines, line) }}
	text, err := json.Marshal(args{"command": "echo first; sleep 0.3; printf 'sec'; sleep 0.05; printf 'ond \\033[1m\\n'; sleep 0.3; seq 100000; sleep 0.3; head -c 5000 /dev/zero | tr '\\0' y; echo; sleep 0.2; printf unfinished"})
	require.NoError(t, err)
	requireOK(t, registry(t, tools.Options{}, bash(w)).Run(t.Context(), c, "bash", string(text)))
	require.Equal(t, "first", lines[0])
	require.Equal(t, "second [1m", lines[1])
	require.Less(t, len(lines), 100, "progress is not throttled")
	for _, line := range lines {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 500)
		require.NotContains(t, line, "unfinished")
	}
}

func TestBashCommandsRunAtTheSameTime(t *testing.T) {
	w := openWorkspace(t)
	tool := bash(w)
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			if got := call(t, tool, args{"command": fmt.Sprintf("sleep 0.1; echo %d", i)}); got.Content != fmt.Sprintln(i) {
				t.Errorf("command %d: %s", i, got.Content)
			}
		})
	}
	group.Wait()
}
