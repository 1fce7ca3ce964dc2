package engine

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
)

func TestRestartContinuesOpenWorkflows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd name with 100%, ? and #")
	o := testOptions(t, dir)
	first := start(t, o)
	c := connect(t, first)
	stopWorker := runWorker(t, c)
	startWait(t, c, "open")
	stopWorker()
	stop(t, first)
	if _, err := os.Stat(filepath.Join(dir, "temporal.db")); err != nil {
		t.Fatal(err)
	}
	for _, path := range first.files.databases() {
		if info, err := os.Stat(path + "-wal"); err == nil && info.Size() != 0 {
			t.Errorf("%s has %d bytes in its log", path, info.Size())
		}
	}

	// Another build of PicoBot, with other settings.
	o.Build = "build-2"
	o.RetentionDays = 3
	o.SearchAttributes = DefaultSearchAttributes()
	o.SearchAttributes["PicobotNew"] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	o.NoUI = true
	second := start(t, o)
	if fresh, why := second.Fresh(); fresh {
		t.Fatalf("fresh because %s", why)
	}
	if got, want := second.prepared.meta.ClusterID, first.prepared.meta.ClusterID; got != want {
		t.Errorf("cluster id %s became %s", want, got)
	}
	if second.UIURL() != "" || second.UILoginURL() != "" {
		t.Errorf("a web UI at %s", second.UIURL())
	}
	c = connect(t, second)
	if info, err := c.WorkflowService().GetClusterInfo(t.Context(), &workflowservice.GetClusterInfoRequest{}); err != nil || info.GetClusterId() != first.prepared.meta.ClusterID {
		t.Errorf("the server says cluster id %s, %v", info.GetClusterId(), err)
	}
	if got := retentionOf(t, c); got != 3*24*time.Hour {
		t.Errorf("retention is %v", got)
	}
	if _, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: `PicobotNew = "x" OR PicobotJob = "x"`}); err != nil {
		t.Errorf("the added search attribute: %v", err)
	}
	runWorker(t, c)
	finishWait(t, c, "open")

	if !second.BuildChanged() {
		t.Error("the other build was not noticed")
	}
	if m, err := readMeta(second.files.meta()); err != nil || m.Build != "build-1" {
		t.Errorf("accepted too early: %+v, %v", m, err)
	}
	if err := second.AcceptBuild(); err != nil || second.BuildChanged() {
		t.Errorf("got %v, %v", err, second.BuildChanged())
	}
	if m, err := readMeta(second.files.meta()); err != nil || m.Build != "build-2" {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestDeletedFilesAreMadeAnewAndAnOlderCopyServes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "temporal")
	copied := filepath.Join(t.TempDir(), "copy")
	o := testOptions(t, dir)
	o.NoUI = true

	s := start(t, o)
	c := connect(t, s)
	stopWorker := runWorker(t, c)
	startWait(t, c, "old")
	stopWorker()
	stop(t, s)
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}

	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	s = start(t, o)
	if fresh, why := s.Fresh(); !fresh || why != "there were no engine files" {
		t.Errorf("got %v, %q", fresh, why)
	}
	c = connect(t, s)
	_, err := c.DescribeWorkflowExecution(t.Context(), "old", "")
	var missing *serviceerror.NotFound
	if !errors.As(err, &missing) {
		t.Errorf("a deleted workflow is still there: %v", err)
	}
	stop(t, s)

	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(copied)); err != nil {
		t.Fatal(err)
	}
	s = start(t, o)
	if fresh, why := s.Fresh(); fresh {
		t.Errorf("fresh because %s", why)
	}
	c = connect(t, s)
	runWorker(t, c)
	finishWait(t, c, "old")
}

func TestFilesOfAnotherVersionAreReplacedBeforeTheServerSeesThem(t *testing.T) {
	dir := t.TempDir()
	prepareOnce(t, dir)
	editMeta(t, files{dir: dir}, func(m *meta) { m.ServerVersion = "1.30.6" })
	s := start(t, testOptions(t, dir))
	if fresh, why := s.Fresh(); !fresh || !strings.Contains(why, "1.30.6") {
		t.Errorf("got %v, %q", fresh, why)
	}
	c := connect(t, s)
	runWorker(t, c)
	startWait(t, c, "new")
	finishWait(t, c, "new")
}

func helperCommand(what, dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"="+what+":"+dir)
	return cmd
}

func TestKilledServerComesBack(t *testing.T) {
	dir := t.TempDir()
	cmd := helperCommand("serve", dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	startWait(t, dialClient(t, strings.TrimSpace(addr), "default"), "survivor")
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()

	s := start(t, testOptions(t, dir))
	if fresh, why := s.Fresh(); fresh {
		t.Fatalf("fresh because %s", why)
	}
	c := connect(t, s)
	runWorker(t, c)
	finishWait(t, c, "survivor")
}

func TestNothingIsPrinted(t *testing.T) {
	var out, errs bytes.Buffer
	cmd := helperCommand("quiet", t.TempDir())
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Errorf("%v: %s", err, &errs)
	}
	if out.Len() != 0 || errs.Len() != 0 {
		t.Errorf("stdout: %s\nstderr: %s", &out, &errs)
	}
}

func TestStartThatIsCancelledLeavesNothingBehind(t *testing.T) {
	o := testOptions(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if s, err := Start(ctx, o); err == nil {
		stop(t, s) // a fast machine
	}
	start(t, o)
}
