package home

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// helperEnv turns the test binary into one of the other processes of a test.
const helperEnv = "PICOBOT_HOME_TEST_HELPER"

func TestMain(m *testing.M) {
	if what, dir, ok := strings.Cut(os.Getenv(helperEnv), ":"); ok {
		os.Exit(helper(what, dir))
	}
	goleak.VerifyTestMain(m)
}

func helper(what, dir string) int {
	h, err := Open(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	switch what {
	case "token":
		tok, err := h.Token()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(tok)
	case "lock":
		if _, err := h.Lock(Owner{Address: "127.0.0.1:19876"}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		// A process that outlives this one, as a tool of a killed gateway would.
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), helperEnv+"=idle:"+dir)
		if err := child.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(child.Process.Pid)
		time.Sleep(time.Minute)
	case "idle":
		time.Sleep(time.Minute)
	}
	return 0
}

func startHelper(t *testing.T, what, dir string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"="+what+":"+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the %s helper said nothing: %v", what, err)
	}
	return cmd, strings.TrimSpace(line)
}

func openTemp(t *testing.T) Home {
	t.Helper()
	h, err := Open(t.TempDir() + "/home")
	if err != nil {
		t.Fatal(err)
	}
	return h
}
