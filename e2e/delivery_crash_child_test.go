package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/activities"
	"picobot/internal/chat"
	"picobot/store"
)

// The test's binary runs itself as a process that can be killed: with these in its
// environment a test of this package serves instead of testing.
const (
	envChildDir     = "PICOBOT_E2E_CHILD_DIR"
	envChildService = "PICOBOT_E2E_CHILD_SERVICE"
)

// serveAsChild runs the whole stack with a channel that sends to the outside service,
// until its input ends. Each line of input is a message: its chat, id and text.
func serveAsChild(t *testing.T) {
	s := &stack{TB: t, dir: os.Getenv(envChildDir)}
	s.openRecord()
	s.acts.Senders = map[string]activities.Sender{chat.ChannelFeishu: outsideSender{os.Getenv(envChildService)}}
	s.start()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		f := strings.SplitN(in.Text(), "\t", 3)
		a, err := s.record.Accept(context.Background(), store.Inbound{Channel: chat.ChannelFeishu, ChatID: f[0], ExternalID: f[1], SenderID: "ou_me", Content: f[2]})
		require.NoError(t, err)
		s.dispatch.Nudge(a.Turn.SessionID)
	}
	s.stop()
	require.NoError(t, s.record.Close())
}

// outsideSender is a channel's sender as it has to be: the row's id is the key by which
// the service knows a message that it has shown.
type outsideSender struct{ url string }

func (s outsideSender) Send(ctx context.Context, o store.Outbound) (string, error) {
	m := outsideMessage{UUID: o.ID, Chat: o.ChatID, Content: o.Content}
	if _, err := s.post(ctx, "/token", m); err != nil {
		return "", err
	}
	return s.post(ctx, "/messages", m)
}

func (s outsideSender) post(ctx context.Context, path string, m outsideMessage) (string, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the service answers %s", resp.Status)
	}
	var answer struct {
		ID string `json:"id"`
	}
	if path == "/token" {
		return "", nil
	}
	return answer.ID, json.NewDecoder(resp.Body).Decode(&answer)
}

// child is a process that serves.
type child struct {
	cmd    *exec.Cmd
	input  *os.File
	output bytes.Buffer
}

// startChild runs the test of this name as a child.
func startChild(t *testing.T, test, dir, service string) *child {
	t.Helper()
	in, out, err := os.Pipe()
	require.NoError(t, err)
	c := &child{cmd: exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.timeout=5m", "-test.v"), input: out}
	c.cmd.Env = append(os.Environ(), envChildDir+"="+dir, envChildService+"="+service)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = in, &c.output, &c.output
	c.cmd.WaitDelay = time.Second
	require.NoError(t, c.cmd.Start())
	require.NoError(t, in.Close()) // the child's end: its input ends when this process does
	t.Cleanup(func() {
		c.kill()
		if t.Failed() {
			t.Logf("a child said:\n%s", &c.output)
		}
	})
	return c
}

func (c *child) write(chatID, id, text string) error {
	_, err := fmt.Fprintf(c.input, "%s\t%s\t%s\n", chatID, id, text)
	return err
}

// kill kills the child with SIGKILL and reports whether it was alive.
func (c *child) kill() bool {
	if c.cmd.ProcessState != nil {
		return false
	}
	_ = c.cmd.Process.Kill() // it may have ended, which Wait tells
	_ = c.cmd.Wait()
	_ = c.input.Close()
	return c.cmd.ProcessState.ExitCode() < 0
}
