package cli

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"picobot/cli/api"
	"picobot/internal/home"
	"picobot/store"
)

func TestVisit_NoGateway_ReadsTheRecordAndMakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	sys := System{Env: func(string) (string, bool) { return "", false }, Now: time.Now, Stderr: &bytes.Buffer{}}
	elsewhere := filepath.Join(t.TempDir(), "config.json") // whatever runs at the default address is none of this test's business
	g := &globals{home: dir, configFile: elsewhere}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(elsewhere, `{"gateway": {"addr": "127.0.0.1:1"}}`)
	v, err := g.visit(t.Context(), sys)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.gateway(); !errors.Is(err, api.ErrNoGateway) {
		t.Errorf("got %v", err)
	}
	if _, err := v.record(t.Context()); err == nil || !strings.Contains(err.Error(), "there is no record in "+dir) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("looking has made a home")
	}
	h, err := home.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Options{Path: h.StorageDB(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if v, err = g.visit(t.Context(), sys); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.close() }()
	r, err := v.record(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if found, err := r.Sessions(t.Context(), store.SessionFilter{}); err != nil || len(found) != 0 {
		t.Errorf("got %v, %v", found, err)
	}
}

func TestVisit_RunningGateway_IsAsked(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"status":"ok","auth":"` + r.Header.Get("Authorization") + `"}`))
	}))
	defer srv.Close()
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	lock, err := h.Lock(home.Owner{Address: srv.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Unlock() }()
	token, err := h.Token()
	if err != nil {
		t.Fatal(err)
	}
	v, err := (&globals{home: h.Dir}).visit(t.Context(), System{Env: func(string) (string, bool) { return "", false }, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.close() }()
	c, err := v.gateway()
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Auth string }
	if err := c.Get(t.Context(), api.Path("x"), nil, &got); err != nil || got.Auth != "Bearer "+token {
		t.Errorf("got %q, %v", got.Auth, err)
	}
}

func TestPrintList_ATableOrOneArray(t *testing.T) {
	row := func(s string) []string { return []string{s, moment(0)} }
	for _, c := range []struct {
		asJSON bool
		items  []string
		want   string
	}{
		{false, []string{"a", "long\x1b[2J\nname"}, "NAME         AT\na            \nlong [2J name  \n"},
		{true, []string{"<a>"}, "[\n  \"<a>\"\n]\n"},
		{true, nil, "[]\n"},
	} {
		var b bytes.Buffer
		if err := printList(&b, c.asJSON, c.items, []string{"NAME", "AT"}, row); err != nil {
			t.Fatal(err)
		}
		if squeeze(b.String()) != squeeze(c.want) {
			t.Errorf("got %q, want %q", b.String(), c.want)
		}
	}
	if n := len([]rune(cell(strings.Repeat("字", 200)))); n != maxCell {
		t.Errorf("a cell of %d characters", n)
	}
}

// squeeze makes what tables pad comparable.
func squeeze(s string) string {
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}
