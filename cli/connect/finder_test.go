package connect

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"picobot/internal/home"
)

// fakeHealth is something that answers /health.
func fakeHealth(t *testing.T, status int, body string) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(srv.Close)
	return srv
}

func hostPort(srv *httptest.Server) string { return srv.Listener.Addr().String() }

func testHome(t *testing.T) home.Home {
	t.Helper()
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func newFinder(t *testing.T, change func(*Options)) *Finder {
	o := Options{
		Home:  testHome(t),
		Addr:  "127.0.0.1:0",
		Token: func() (string, error) { return "tok", nil },
		Start: func(context.Context, func(string)) error {
			return errors.New("must not be started")
		},
		Started:      func(string) {},
		TemporalAway: func() {},
		Patience:     5 * time.Second,
		Poll:         time.Millisecond,
		HTTP:         &http.Client{Transport: &http.Transport{}},
	}
	change(&o)
	f := New(o)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// own starts a gateway as the app does: it takes the home's lock, listens, and names
// itself in the lock file.
func ownGateway(t *testing.T, h home.Home) func(context.Context, func(string)) error {
	return func(ctx context.Context, ready func(string)) error {
		lock, err := h.Lock(home.Owner{Command: "agent"})
		if err != nil {
			return err
		}
		defer func() { _ = lock.Unlock() }()
		srv := fakeHealth(t, 200, `{"status":"ok"}`)
		defer srv.Close()
		if err := lock.Update(home.Owner{Command: "agent", Address: hostPort(srv)}); err != nil {
			return err
		}
		ready(srv.URL)
		<-ctx.Done()
		return nil
	}
}

func TestGatewayThatOwnsTheHomeIsFoundWhereItSays(t *testing.T) {
	srv := fakeHealth(t, 503, `{"status":"degraded"}`)
	f := newFinder(t, func(o *Options) {
		lock, err := o.Home.Lock(home.Owner{Address: hostPort(srv)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = lock.Unlock() })
	})
	ep, err := f.Locate(t.Context())
	if err != nil || ep.URL != srv.URL || ep.Token != "tok" {
		t.Errorf("got %+v, %v", ep, err)
	}
}

func TestGatewayThatIsStillStartingIsWaitedFor(t *testing.T) {
	srv := fakeHealth(t, 200, `{"status":"ok"}`)
	f := newFinder(t, func(o *Options) {
		lock, err := o.Home.Lock(home.Owner{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = lock.Unlock() })
		time.AfterFunc(50*time.Millisecond, func() { _ = lock.Update(home.Owner{Address: hostPort(srv)}) })
	})
	if ep, err := f.Locate(t.Context()); err != nil || ep.URL != srv.URL {
		t.Errorf("got %+v, %v", ep, err)
	}
}

func TestGatewayAtTheConfiguredAddressIsUsedWhenTheHomeHasNone(t *testing.T) {
	srv := fakeHealth(t, 200, `{"status":"ok"}`)
	f := newFinder(t, func(o *Options) { o.Addr = hostPort(srv) })
	ep, err := f.Locate(t.Context())
	if err != nil || ep.URL != srv.URL {
		t.Errorf("got %+v, %v", ep, err)
	}
	// It may be another home's: then its refusal means that.
	for _, says := range []string{srv.URL, f.o.Home.Dir, "gateway.addr", "--home"} {
		if !strings.Contains(ep.IfRefused, says) {
			t.Errorf("%q is not in %q", says, ep.IfRefused)
		}
	}
}

func TestGatewayOfThisHomeOrThatWasNamed_IsNotTakenForAnotherHomes(t *testing.T) {
	srv := fakeHealth(t, 200, `{"status":"ok"}`)
	for name, change := range map[string]func(*Options){
		"named":   func(o *Options) { o.URL = srv.URL },
		"started": func(o *Options) { o.Start = ownGateway(t, o.Home) },
	} {
		if ep, err := newFinder(t, change).Locate(t.Context()); err != nil || ep.IfRefused != "" {
			t.Errorf("%s: got %+v, %v", name, ep, err)
		}
	}
}

func TestGatewayIsStartedHereWhenNoneAnswersAndAgainWhenItIsGone(t *testing.T) {
	var started atomic.Int32
	var mu sync.Mutex
	var stop context.CancelFunc
	f := newFinder(t, func(o *Options) {
		// Something that is not PicoBot at the configured address is no gateway.
		o.Addr = hostPort(fakeHealth(t, 200, `hello`))
		o.Started = func(string) { started.Add(1) }
		run := ownGateway(t, o.Home)
		o.Start = func(ctx context.Context, ready func(string)) error {
			ctx, cancel := context.WithCancel(ctx)
			mu.Lock()
			stop = cancel
			mu.Unlock()
			return run(ctx, ready)
		}
	})
	first, err := f.Locate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := f.Locate(t.Context()); err != nil || again != first || started.Load() != 1 {
		t.Fatalf("a gateway that runs is used again: got %+v, %v after %d starts", again, err, started.Load())
	}
	mu.Lock()
	stop()
	mu.Unlock()
	for alive := true; alive; { // it takes a moment to go
		_, alive, _ = f.o.Home.ReadOwner()
	}
	second, err := f.Locate(t.Context())
	if err != nil || second.URL == first.URL || started.Load() != 2 {
		t.Errorf("got %+v, %v after %d starts", second, err, started.Load())
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, alive, _ := f.o.Home.ReadOwner(); alive {
		t.Error("the home is still owned after Close")
	}
}

func TestGatewayOfTheProcessThatWasQuickerIsUsed(t *testing.T) {
	f := newFinder(t, func(o *Options) {
		run := ownGateway(t, o.Home)
		o.Start = func(ctx context.Context, ready func(string)) error {
			theirs := make(chan string, 1)
			other, cancel := context.WithCancel(context.Background())
			t.Cleanup(cancel)
			go func() { _ = run(other, func(url string) { theirs <- url }) }()
			<-theirs
			return run(ctx, ready) // refused: the other has the lock
		}
	})
	if _, err := f.Locate(t.Context()); err != nil {
		t.Errorf("got %v", err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("losing the race is no failure: %v", err)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + free.Addr().String()
	_ = free.Close()
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"named gateway does not answer": {func(o *Options) { o.URL = nobody }, "leave out --gateway"},
		"named gateway is something else": {func(o *Options) {
			o.URL = fakeHealth(t, 200, `{}`).URL
		}, "is not PicoBot"},
		"start fails": {func(o *Options) {
			o.Start = func(context.Context, func(string)) error { return errors.New("port is taken") }
		}, "port is taken"},
		"start never ends": {func(o *Options) {
			o.Patience = 50 * time.Millisecond
			o.Start = func(ctx context.Context, _ func(string)) error { <-ctx.Done(); return nil }
		}, "did not start within"},
		"start ends without serving": {func(o *Options) {
			o.Start = func(context.Context, func(string)) error { return nil }
		}, "stopped before it served"},
		"owner does not answer": {func(o *Options) {
			o.Patience = 50 * time.Millisecond
			lock, err := o.Home.Lock(home.Owner{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = lock.Unlock() })
		}, "is in use by process"},
	} {
		_, err := newFinder(t, c.change).Locate(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestNamedGatewayIsWaitedForOnceItWasThere(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	serve := func(ln net.Listener) *http.Server {
		s := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"status":"ok"}`))
		})}
		go func() { _ = s.Serve(ln) }()
		return s
	}
	s := serve(ln)
	f := newFinder(t, func(o *Options) { o.URL = "http://" + addr })
	if _, err := f.Locate(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	time.AfterFunc(100*time.Millisecond, func() {
		if ln, err := net.Listen("tcp", addr); err == nil {
			restarted := serve(ln)
			t.Cleanup(func() { _ = restarted.Close() })
		}
	})
	if _, err := f.Locate(t.Context()); err != nil {
		t.Errorf("the restarted gateway was not found: %v", err)
	}
}

func TestPersonIsToldOnceThatAnswersHaveToWait(t *testing.T) {
	told := 0
	srv := fakeHealth(t, 503, `{"status":"degraded","temporal":"error: it does not answer"}`)
	f := newFinder(t, func(o *Options) {
		o.URL = srv.URL
		o.TemporalAway = func() { told++ }
	})
	for range 2 {
		if _, err := f.Locate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}
