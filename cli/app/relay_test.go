package app

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"picobot/internal/home"
	"picobot/internal/live"
)

// fakeGateway takes news.
func fakeGateway(t *testing.T) (addr string, got func() []live.News, stop func()) {
	t.Helper()
	taken := make(chan live.News, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ News []live.News }
		if r.Header.Get("Authorization") != "Bearer token" || r.URL.Path != "/api/v1/live" || json.NewDecoder(r.Body).Decode(&body) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		for _, n := range body.News {
			taken <- n
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), func() (out []live.News) {
		for range len(taken) {
			out = append(out, <-taken)
		}
		return out
	}, s.Close
}

func TestGatewayBeside_IsFoundByTheLockFileWhereverItIs(t *testing.T) {
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	token := "token"
	g := &gatewayBeside{home: h, token: func() (string, error) { return token, nil }}
	defer g.leave()
	news := func(id string) []live.News { return []live.News{{SessionID: id, Changed: true}} }

	if err := g.post(t.Context(), news("nobody")); err == nil || !strings.Contains(err.Error(), "no gateway runs") {
		t.Errorf("before there is one: %v", err)
	}
	lock, err := h.Lock(home.Owner{Command: "gateway"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Unlock() }()
	if err := g.post(t.Context(), news("early")); err == nil {
		t.Error("it does not serve yet")
	}
	owner := func(addr string) {
		if err := lock.Update(home.Owner{Command: "gateway", Address: addr}); err != nil {
			t.Fatal(err)
		}
	}
	addr, got, stop := fakeGateway(t)
	_, port, _ := net.SplitHostPort(addr)
	owner("0.0.0.0:" + port) // it listens everywhere
	if err := g.post(t.Context(), news("one")); err != nil {
		t.Fatal(err)
	}
	if n := got(); len(n) != 1 || n[0].SessionID != "one" {
		t.Errorf("it got %+v", n)
	}

	// Another gateway, elsewhere: the very next news get there.
	stop()
	g.client.Close() // it takes a moment to be noticed that the connection is gone
	addr, got, stop = fakeGateway(t)
	owner(addr)
	if err := g.post(t.Context(), news("two")); err != nil {
		t.Fatal(err)
	}
	if n := got(); len(n) != 1 || n[0].SessionID != "two" {
		t.Errorf("it got %+v", n)
	}

	// One that refuses the token has not got it, and is asked once.
	token = "changed"
	g.leave()
	if err := g.post(t.Context(), news("three")); err == nil || !strings.Contains(err.Error(), "refuses the token") {
		t.Errorf("a wrong token: %v", err)
	}
	token = "token"
	if err := g.post(t.Context(), news("four")); err != nil {
		t.Error(err)
	}
	stop()
	g.client.Close()
	if err := g.post(t.Context(), news("five")); err == nil {
		t.Error("nobody is there")
	}
}
