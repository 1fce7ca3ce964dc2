package home

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func mustLock(t *testing.T, h Home, o Owner) *Lock {
	t.Helper()
	l, err := h.Lock(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Unlock() })
	return l
}

func TestNobodyOwnsANewHome(t *testing.T) {
	h := openTemp(t)
	if o, alive, err := h.ReadOwner(); alive || err != nil || o != (Owner{}) {
		t.Errorf("got %+v, %v, %v", o, alive, err)
	}
	if _, err := os.Stat(h.LockFile()); !os.IsNotExist(err) {
		t.Errorf("looking made the file: %v", err)
	}
}

func TestOwnerIsFoundWhileItHoldsTheLock(t *testing.T) {
	h := openTemp(t)
	want := Owner{PID: os.Getpid(), Command: "gateway", Address: "127.0.0.1:1", StartedAt: 7, Version: "v1", TemporalAddress: "127.0.0.1:2", UIURL: "http://127.0.0.1:3"}
	l := mustLock(t, h, want)
	if o, alive, err := h.ReadOwner(); o != want || !alive || err != nil {
		t.Errorf("got %+v, %v, %v", o, alive, err)
	}

	want.Address, want.UIURL = "127.0.0.1:19876", "" // shorter than before
	if err := l.Update(want); err != nil {
		t.Fatal(err)
	}
	if o, alive, err := h.ReadOwner(); o != want || !alive || err != nil {
		t.Errorf("after the update: %+v, %v, %v", o, alive, err)
	}

	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if o, alive, err := h.ReadOwner(); alive || err != nil || o != (Owner{}) {
		t.Errorf("after it was given up: %+v, %v, %v", o, alive, err)
	}
	if err := l.Unlock(); err != nil {
		t.Errorf("giving it up again: %v", err)
	}
	if err := l.Update(want); err == nil {
		t.Error("an owner that gave the home up could still write its name")
	}
	mustLock(t, h, Owner{})
}

func TestLockFileIsPlainJSONForTheOwnerOnly(t *testing.T) {
	h := openTemp(t)
	mustLock(t, h, Owner{Address: "127.0.0.1:19876"})
	data, err := os.ReadFile(h.LockFile())
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil || got["address"] != "127.0.0.1:19876" || got["pid"] != float64(os.Getpid()) {
		t.Errorf("%s: %v", data, err)
	}
	if info, err := os.Stat(h.LockFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestSecondLockNamesTheOwner(t *testing.T) {
	h := openTemp(t)
	l := mustLock(t, h, Owner{PID: 4711})
	var held *HeldError
	_, err := h.Lock(Owner{})
	if !errors.As(err, &held) || held.Owner.PID != 4711 {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{h.Dir, "process 4711 (still starting)", "--home"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if err := l.Update(Owner{PID: 4711, Address: "127.0.0.1:19876"}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Lock(Owner{}); err == nil || !strings.Contains(err.Error(), "process 4711 (gateway at 127.0.0.1:19876)") {
		t.Errorf("got %v", err)
	}
}

func TestNamelessOwnerIsStillAnOwner(t *testing.T) {
	h := openTemp(t)
	mustLock(t, h, Owner{})
	if err := os.Truncate(h.LockFile(), 0); err != nil {
		t.Fatal(err)
	}
	if o, alive, err := h.ReadOwner(); !alive || err != nil || o.PID != 0 {
		t.Errorf("got %+v, %v, %v", o, alive, err)
	}
	if _, err := h.Lock(Owner{}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("got %v", err)
	}
}

func TestKilledOwnerIsNoOwnerEvenWhileItsChildLives(t *testing.T) {
	h := openTemp(t)
	cmd, line := startHelper(t, "lock", h.Dir)
	child, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) })

	if o, alive, err := h.ReadOwner(); !alive || err != nil || o.PID != cmd.Process.Pid {
		t.Fatalf("got %+v, %v, %v", o, alive, err)
	}
	var held *HeldError
	if _, err := h.Lock(Owner{}); !errors.As(err, &held) || held.Owner.PID != cmd.Process.Pid {
		t.Fatalf("got %v", err)
	}

	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Fatalf("got %v", err)
	}
	if err := syscall.Kill(child, 0); err != nil {
		t.Fatalf("the child should still run: %v", err)
	}
	if o, alive, err := h.ReadOwner(); alive || err != nil || o != (Owner{}) {
		t.Errorf("got %+v, %v, %v", o, alive, err)
	}
	mustLock(t, h, Owner{})
	if o, alive, _ := h.ReadOwner(); !alive || o.PID != os.Getpid() {
		t.Errorf("got %+v, %v", o, alive)
	}
}

func TestLookingNeverMakesAStartFail(t *testing.T) {
	h := openTemp(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, _, err := h.ReadOwner(); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	for range 50 {
		l, err := h.Lock(Owner{Address: "127.0.0.1:19876"})
		if err != nil {
			t.Error(err)
			break
		}
		if err := l.Unlock(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
}
