package proc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"picobot/internal/tools/proc"
)

// helperEnv makes the test binary run one command, as PicoBot would, until it is killed.
const helperEnv = "PROC_TEST_COMMAND"

// forgetEnv makes the test binary a program that does not call proc.Main.
const forgetEnv = "PROC_TEST_FORGET"

func TestMain(m *testing.M) {
	if os.Getenv(forgetEnv) == "" {
		proc.Main()
	}
	if text := os.Getenv(helperEnv); text != "" {
		var c proc.Command
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			panic(err)
		}
		c.Output = os.Stdout
		_, err := proc.Run(context.Background(), c)
		fmt.Println("ended:", err)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// soon is how long anything may take that a stop, a limit or a death sets off.
const soon = 2 * time.Second

func sh(t *testing.T, script string) proc.Command {
	t.Helper()
	return proc.Command{
		Args: []string{"/bin/sh", "-c", script},
		Dir:  t.TempDir(),
		Env:  []string{"PATH=" + os.Getenv("PATH")},
		Mark: t.Name() + "-" + strconv.Itoa(os.Getpid()),
	}
}

func run(t *testing.T, ctx context.Context, c proc.Command) (string, proc.Exit, error) {
	t.Helper()
	var out bytes.Buffer
	c.Output = &out
	exit, err := proc.Run(ctx, c)
	return out.String(), exit, err
}

// pidIn waits for a file that a script writes a process id to.
func pidIn(t *testing.T, path string) int {
	t.Helper()
	var pid int
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(path)
		if err != nil || !bytes.HasSuffix(text, []byte("\n")) {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	}, 20*time.Second, 5*time.Millisecond, "the script never started")
	return pid
}

func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return fields[0] != "Z" && fields[0] != "X"
}

func requireDead(t *testing.T, pid int, within time.Duration) {
	t.Helper()
	deadline := time.Now().Add(within)
	for alive(pid) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still lives", pid)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestRunReportsOutputAndStatus(t *testing.T) {
	out, exit, err := run(t, t.Context(), sh(t, "echo one; echo two >&2; exit 3"))
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\n", out)
	require.Equal(t, proc.Exit{Code: 3}, exit)
}

func TestRunReportsTheSignalThatEndedTheCommand(t *testing.T) {
	_, exit, err := run(t, t.Context(), sh(t, "kill -9 $$"))
	require.NoError(t, err)
	require.Equal(t, proc.Exit{Code: -1, Signal: "killed"}, exit)
}

func TestRunSaysWhyACommandCannotStart(t *testing.T) {
	c := sh(t, "")
	c.Args = []string{filepath.Join(t.TempDir(), "missing")}
	_, _, err := run(t, t.Context(), c)
	require.ErrorContains(t, err, "no such file")

	c = sh(t, "true")
	c.Dir = filepath.Join(t.TempDir(), "missing")
	_, _, err = run(t, t.Context(), c)
	require.ErrorContains(t, err, "no such file")

	_, err = proc.Run(t.Context(), proc.Command{})
	require.Error(t, err)
}

func TestRunPassesLargeOrdersAndOutputs(t *testing.T) {
	c := sh(t, `printf %s "$BIG" | wc -c; head -c 3000000 /dev/zero`)
	c.Env = append(c.Env, "BIG="+strings.Repeat("x", 120_000), "BIG2="+strings.Repeat("y", 120_000))
	out, exit, err := run(t, t.Context(), c)
	require.NoError(t, err)
	require.Zero(t, exit.Code)
	first, rest, _ := strings.Cut(out, "\n")
	require.Equal(t, "120000", strings.TrimSpace(first))
	require.Len(t, rest, 3000000)
}

func TestTheCommandHasOnlyItsOwnEnvironment(t *testing.T) {
	t.Setenv("PROC_TEST_SECRET", "hunter2")
	// The supervisor is the command's parent, and its parent is this process,
	// which is not the supervisor's to hide.
	out, _, err := run(t, t.Context(), sh(t, `env; cat /proc/$$/environ /proc/$PPID/environ; echo; echo supervisor $(tr '\0' ' ' </proc/$PPID/cmdline)`))
	require.NoError(t, err)
	require.NotContains(t, out, "hunter2")
	require.Contains(t, out, "supervisor picobot-exec")
	require.Contains(t, out, proc.MarkName+"="+t.Name())
}

func TestTheCommandHasNoOpenFilesOfOurs(t *testing.T) {
	// A file without close-on-exec, as a parent process may have left it to us.
	leak, err := syscall.Open(filepath.Join(t.TempDir(), "lock"), syscall.O_CREAT|syscall.O_RDWR, 0o600)
	require.NoError(t, err)
	defer func() { _ = syscall.Close(leak) }()
	out, _, err := run(t, t.Context(), sh(t, `ls -l /proc/$$/fd; echo; ls -l /proc/$PPID/fd`))
	require.NoError(t, err)
	require.NotContains(t, out, "lock")
	require.NotContains(t, out, "socket:")
	shell, _, _ := strings.Cut(out, "\n\n")
	require.Equal(t, 3, strings.Count(shell, " -> "), "the command has more than stdin, stdout and stderr: %s", shell)
}

func TestTheCommandHasDefaultSignals(t *testing.T) {
	out, exit, err := run(t, t.Context(), sh(t, `grep SigIgn /proc/$$/status; yes | head -n 1`))
	require.NoError(t, err)
	require.Zero(t, exit.Code)
	// Bits 0 to 30 are the standard signals; what lies above is libc's own business,
	// and may be ignored already in whoever runs the tests.
	mask, _, _ := strings.Cut(out, "\n")
	ignored, err := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(mask, "SigIgn:")), 16, 64)
	require.NoError(t, err)
	require.Zero(t, ignored&(1<<31-1), mask)
	require.NotContains(t, out, "roken pipe")
}

func TestTheCommandCannotGainPrivileges(t *testing.T) {
	out, _, err := run(t, t.Context(), sh(t, `grep NoNewPrivs /proc/$$/status; ulimit -c`))
	require.NoError(t, err)
	require.Contains(t, out, "NoNewPrivs:\t1")
	require.Contains(t, out, "\n0\n")
}

// spawnings are the ways in which a command leaves something running.
func spawnings() map[string]string {
	return map[string]string{
		"child":              `sleep 1000 & echo $! >pid; `,
		"child without ties": `nohup sleep 1000 >/dev/null 2>&1 </dev/null & echo $! >pid; `,
		"new session":        `setsid sh -c 'echo $$ >pid; exec sleep 1000' & `,
		"daemon":             `(setsid sh -c '(echo $(cut -d" " -f4 /proc/self/stat) >pid; exec sleep 1000) & exit' &) ; `,
		"deaf to SIGTERM":    `setsid sh -c 'trap "" TERM HUP INT; echo $$ >pid; while :; do sleep 1; done' & `,
		"without its mark":   `env -i setsid /bin/sh -c 'echo $$ >pid; exec sleep 1000' & `,
		"stopped":            `sh -c 'echo $$ >pid; kill -STOP $$; sleep 1000' & `,
	}
}

func TestNothingOutlivesItsCommand(t *testing.T) {
	for name, script := range spawnings() {
		t.Run(name, func(t *testing.T) {
			c := sh(t, script+`while ! [ -s pid ]; do sleep 0.01; done; echo done`)
			out, exit, err := run(t, t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, "done\n", out)
			require.Zero(t, exit.Code)
			require.False(t, alive(pidIn(t, filepath.Join(c.Dir, "pid"))))
		})
	}
}

func TestNothingOutlivesAStop(t *testing.T) {
	cause := errors.New("because")
	for name, script := range spawnings() {
		t.Run(name, func(t *testing.T) {
			c := sh(t, script+`echo started; sleep 1000`)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			pid := make(chan int, 1)
			go func() {
				defer cancel(cause)
				pid <- pidIn(t, filepath.Join(c.Dir, "pid"))
			}()
			out, _, err := run(t, ctx, c)
			require.ErrorIs(t, err, cause)
			require.Contains(t, "started\n", out)
			require.False(t, alive(<-pid))
		})
	}
}

func TestAStopTakesLessThanTwoSeconds(t *testing.T) {
	c := sh(t, `trap "" TERM; echo $$ >pid; while :; do sleep 1; done`)
	ctx, cancel := context.WithCancel(t.Context())
	var stopped time.Time
	go func() {
		pidIn(t, filepath.Join(c.Dir, "pid"))
		stopped = time.Now()
		cancel()
	}()
	_, _, err := run(t, ctx, c)
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(stopped), soon)
}

func TestAStoppedCommandMayCleanUp(t *testing.T) {
	c := sh(t, `trap "echo bye; exit 0" TERM; echo $$ >pid; while :; do sleep 0.05; done`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		pidIn(t, filepath.Join(c.Dir, "pid"))
		cancel()
	}()
	out, _, err := run(t, ctx, c)
	require.ErrorIs(t, err, context.Canceled)
	require.Contains(t, out, "bye\n")
}

// The bomb is bounded (generations, not time): a test must never be able to take
// the machine down with it.
func TestATreeOfProcessesEnds(t *testing.T) {
	c := sh(t, `echo $$ >pid; grow() { if [ $1 -gt 0 ]; then sleep 0.02; grow $(($1-1)) & grow $(($1-1)) & fi; sleep 1000; }; grow 5; sleep 1000`)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, _, err := run(t, ctx, c)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, proc.KillMarked(context.Background(), c.Mark))
}

func TestNothingIsStartedOnceTheContextEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := sh(t, "echo $$ >pid")
	_, _, err := run(t, ctx, c)
	require.ErrorIs(t, err, context.Canceled)
	require.NoFileExists(t, filepath.Join(c.Dir, "pid"))
}

// startHelper runs a command in a process of its own.
func startHelper(t *testing.T, c proc.Command) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	text, err := json.Marshal(c)
	require.NoError(t, err)
	helper := exec.Command(exe)
	helper.Env = append(os.Environ(), helperEnv+"="+string(text))
	require.NoError(t, helper.Start())
	t.Cleanup(func() {
		_ = helper.Process.Kill()
		_ = helper.Wait()
		require.NoError(t, proc.KillMarked(context.Background(), c.Mark))
	})
	return helper
}

func TestNothingOutlivesAKilledParent(t *testing.T) {
	for name, script := range spawnings() {
		t.Run(name, func(t *testing.T) {
			c := sh(t, script+`sleep 1000`)
			helper := startHelper(t, c)
			pid := pidIn(t, filepath.Join(c.Dir, "pid"))
			require.True(t, alive(pid))
			require.NoError(t, helper.Process.Kill())
			requireDead(t, pid, soon)
		})
	}
}

func TestSignalsToTheSupervisorAloneStopNothing(t *testing.T) {
	c := sh(t, `echo $PPID >pid; while ! [ -s go ]; do sleep 0.01; done; echo done`)
	go func() {
		pid := pidIn(t, filepath.Join(c.Dir, "pid"))
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
			_ = syscall.Kill(pid, s)
		}
		time.Sleep(50 * time.Millisecond)
		_ = os.WriteFile(filepath.Join(c.Dir, "go"), []byte("x"), 0o600)
	}()
	out, exit, err := run(t, t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, "done\n", out)
	require.Zero(t, exit.Code)
}

func TestACommandThatKillsItsSupervisorIsKilledToo(t *testing.T) {
	c := sh(t, `setsid sh -c 'echo $$ >pid; exec sleep 1000' & while ! [ -s pid ]; do sleep 0.01; done; kill -9 $PPID; sleep 1000`)
	_, _, err := run(t, t.Context(), c)
	require.ErrorContains(t, err, "supervisor was killed")
	require.False(t, alive(pidIn(t, filepath.Join(c.Dir, "pid"))))
}

func TestKillMarkedFindsWhatAKilledSupervisorLeft(t *testing.T) {
	c := sh(t, `setsid sh -c 'echo $$ >pid; exec sleep 1000' & echo $PPID >supervisor; sleep 1000`)
	helper := startHelper(t, c)
	pid := pidIn(t, filepath.Join(c.Dir, "pid"))
	supervisor := pidIn(t, filepath.Join(c.Dir, "supervisor"))
	require.NoError(t, helper.Process.Signal(syscall.SIGSTOP)) // it could do the same itself
	require.NoError(t, syscall.Kill(supervisor, syscall.SIGKILL))
	require.True(t, alive(pid))
	require.NoError(t, proc.KillMarked(context.Background(), c.Mark))
	require.False(t, alive(pid))
	require.Error(t, proc.KillMarked(context.Background(), ""))
}

func TestManyCommandsRunAtOnce(t *testing.T) {
	var group sync.WaitGroup
	for i := range 8 {
		c := sh(t, fmt.Sprintf("echo %d; sleep 0.05 & exit %d", i, i))
		c.Mark += strconv.Itoa(i)
		group.Go(func() {
			var out bytes.Buffer
			c.Output = &out
			exit, err := proc.Run(context.Background(), c)
			if err != nil || exit.Code != i || out.String() != fmt.Sprintln(i) {
				t.Errorf("command %d: %q, %v, %v", i, out.String(), exit, err)
			}
		})
	}
	group.Wait()
}

func TestASupervisorWithoutAParentEnds(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{"picobot-exec"}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

func TestAProgramThatDoesNotHandOverIsNotStartedAgain(t *testing.T) {
	text, err := json.Marshal(sh(t, "echo never"))
	require.NoError(t, err)
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{"picobot-exec"}
	cmd.Env = []string{forgetEnv + "=1", helperEnv + "=" + string(text)}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), proc.ErrNotHandedOver.Error())
	require.NotContains(t, string(out), "never")
}
