package engine

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const (
	testKey   = "the key of the tests"
	testQueue = "tests"

	// helperEnv turns the test binary into a process that runs an engine.
	helperEnv = "PICOBOT_ENGINE_TEST_HELPER"
)

func TestMain(m *testing.M) {
	if what, dir, ok := strings.Cut(os.Getenv(helperEnv), ":"); ok {
		os.Exit(helper(what, dir))
	}
	os.Exit(m.Run())
}

// helper runs an engine and says nothing that the test did not ask for.
func helper(what, dir string) int {
	s, err := Start(context.Background(), Options{Dir: dir, Address: "127.0.0.1:0", UIAddress: "127.0.0.1:0", APIKey: testKey})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if what == "serve" {
		fmt.Println(s.Address())
		time.Sleep(time.Minute)
	}
	if err := s.Stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// testOptions are for servers that may run beside each other.
func testOptions(t *testing.T, dir string) Options {
	t.Helper()
	return Options{
		Dir:       dir,
		Address:   "127.0.0.1:0",
		UIAddress: "127.0.0.1:0",
		APIKey:    testKey,
		Build:     "build-1",
		Logger:    testLogger(t),
	}
}

func testLogger(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}

func start(t *testing.T, o Options) *Server {
	t.Helper()
	began := time.Now()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started in %v", time.Since(began).Round(time.Millisecond))
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *Server) {
	t.Helper()
	began := time.Now()
	if err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > time.Millisecond {
		t.Logf("stopped in %v", took.Round(time.Millisecond))
	}
}

func clientOptions(addr, namespace string) client.Options {
	return client.Options{
		HostPort:          addr,
		Namespace:         namespace,
		Credentials:       client.NewAPIKeyStaticCredentials(testKey),
		ConnectionOptions: client.ConnectionOptions{TLSDisabled: true},
		Logger:            slog.New(slog.DiscardHandler),
	}
}

func connect(t *testing.T, s *Server) client.Client {
	t.Helper()
	return dialClient(t, s.Address(), s.Namespace())
}

func dialClient(t *testing.T, addr, namespace string) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), clientOptions(addr, namespace))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// runWorker works on the test queue until the test ends or stop is called.
func runWorker(t *testing.T, c client.Client) (stop func()) {
	t.Helper()
	w := worker.New(c, testQueue, worker.Options{})
	w.RegisterWorkflow(turnWorkflow)
	w.RegisterWorkflow(waitWorkflow)
	w.RegisterActivityWithOptions(echoActivity, activity.RegisterOptions{Name: "echo"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			w.Stop()
			stopped = true
		}
	}
	t.Cleanup(stop)
	return stop
}

func echoActivity(_ context.Context, text string) (string, error) { return text, nil }

// turnWorkflow is shaped like a small turn: three activities in a row.
func turnWorkflow(ctx workflow.Context, text string) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
	var out string
	for range 3 {
		if err := workflow.ExecuteActivity(ctx, "echo", text).Get(ctx, &out); err != nil {
			return "", err
		}
	}
	return out, nil
}

// waitWorkflow stays open until it gets its signal.
func waitWorkflow(ctx workflow.Context) (string, error) {
	var text string
	workflow.GetSignalChannel(ctx, "go on").Receive(ctx, &text)
	return text, nil
}

func startWait(t *testing.T, c client.Client, id string) {
	t.Helper()
	if _, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: testQueue}, waitWorkflow); err != nil {
		t.Fatal(err)
	}
}

// finishWait ends an open waitWorkflow and checks what it returns.
func finishWait(t *testing.T, c client.Client, id string) {
	t.Helper()
	if err := c.SignalWorkflow(t.Context(), id, "", "go on", "done"); err != nil {
		t.Fatal(err)
	}
	var out string
	if err := c.GetWorkflow(t.Context(), id, "").Get(t.Context(), &out); err != nil || out != "done" {
		t.Fatalf("got %q, %v", out, err)
	}
}

// eventually is for what the server does in its own time.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

// lines collects log lines.
type lines struct{ bytes.Buffer }

func startOptions(id string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{ID: id, TaskQueue: testQueue}
}
