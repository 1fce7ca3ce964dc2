package app

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"picobot/activities"
	"picobot/cli/logging"
	"picobot/internal/config"
	"picobot/internal/flow"
	"picobot/internal/home"
	"picobot/internal/port"
	"picobot/store"
)

func TestWhatWasOpenedFirstIsClosedLast(t *testing.T) {
	var order []string
	var c closers
	for _, what := range []string{"lock", "record", "engine"} {
		c.add("the "+what, func() error {
			order = append(order, what)
			if what == "record" {
				return errors.New("disk is full")
			}
			return nil
		})
	}
	err := c.close()
	if !slices.Equal(order, []string{"engine", "record", "lock"}) {
		t.Errorf("order %q", order)
	}
	if err == nil || err.Error() != "close the record: disk is full" {
		t.Errorf("got %v", err)
	}
}

// log of what parts did, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) part(name string, result error) part {
	return func(ctx context.Context) error {
		if result != nil {
			return result
		}
		<-ctx.Done()
		j.add(name)
		return nil
	}
}

func TestServerStopsBeforeWhatDoesItsWork(t *testing.T) {
	var j journal
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	front := func(ctx context.Context) error {
		<-ctx.Done()
		time.Sleep(20 * time.Millisecond) // the others must wait for it
		j.add("server")
		return nil
	}
	if err := run(ctx, front, []part{j.part("worker", nil)}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(j.lines, []string{"server", "worker"}) {
		t.Errorf("order %q", j.lines)
	}
}

func TestPartThatFailsStopsTheOthers(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct{ front, back error }{"server": {front: broken}, "worker": {back: broken}} {
		var j journal
		err := run(t.Context(), j.part("server", c.front), []part{j.part("other", nil), j.part("worker", c.back)})
		if !errors.Is(err, broken) {
			t.Errorf("%s: got %v", name, err)
		}
		if !slices.Contains(j.lines, "other") {
			t.Errorf("%s: the others did not stop: %q", name, j.lines)
		}
	}
}

func options(t *testing.T, file string) Options {
	t.Helper()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.ConfigFile(), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Source{Home: h.Dir})
	if err != nil {
		t.Fatal(err)
	}
	scrub := logging.NewScrubber()
	log, err := logging.New(testWriter{t}, logging.Options{Level: "debug", Format: "text"}, scrub)
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Home: h, Config: cfg, Version: "v1", Build: "v1 abc", Command: "gateway", Now: time.Now,
		Log: log, Scrub: scrub, Say: func(string) {},
	}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) { w.t.Logf("%s", p); return len(p), nil }

// refuse is an engine that does not start.
func refuse(context.Context, EngineOptions) (Engine, error) {
	return nil, errors.New("no engine today")
}

func TestOnlyPortsThatTheConfigNamesAreFixed(t *testing.T) {
	o := options(t, `{"temporal": {"ui_addr": "127.0.0.1:9999", "retention_days": 3}}`)
	e := o.engine("key")
	if e.AddrFixed || !e.UIFixed || e.UIAddr != "127.0.0.1:9999" || e.Addr != "127.0.0.1:7233" || e.RetentionDays != 3 || e.Key != "key" || e.Build != "v1 abc" {
		t.Errorf("%+v", e)
	}
	var got EngineOptions
	_ = Runtime{func(_ context.Context, e EngineOptions) (Engine, error) {
		got = e
		return refuse(context.Background(), e)
	}}.
		Temporal(t.Context(), options(t, `{"temporal": {"api_key": "dev-key"}}`), nil)
	if !got.AddrFixed || !got.UIFixed || got.Key != "dev-key" {
		t.Errorf("picobot temporal: %+v", got)
	}
}

func TestStartThatFailsGivesEverythingBack(t *testing.T) {
	o := options(t, `{"gateway": {"addr": "127.0.0.1:0"}}`)
	for range 2 { // the second would find the home taken
		err := Runtime{refuse}.Gateway(t.Context(), o, func(Addresses) { t.Error("it is not ready") })
		if err == nil || !strings.Contains(err.Error(), "no engine today") {
			t.Fatalf("got %v", err)
		}
	}
	if _, alive, err := o.Home.ReadOwner(); alive || err != nil {
		t.Errorf("the home is still owned: %v", err)
	}
}

func TestHomeAndPortAreClaimedBeforeAnythingElse(t *testing.T) {
	o := options(t, `{"gateway": {"addr": "127.0.0.1:0"}}`)
	lock, err := o.Home.Lock(home.Owner{Address: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	err = Runtime{refuse}.Gateway(t.Context(), o, nil)
	var held *home.HeldError
	if !errors.As(err, &held) || held.Owner.PID != os.Getpid() {
		t.Errorf("got %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if o.Config, err = o.Config.WithGatewayAddr(ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	err = Runtime{refuse}.Gateway(t.Context(), o, nil)
	var taken *port.TakenError
	if !errors.As(err, &taken) || !strings.HasPrefix(err.Error(), "gateway.addr: ") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(o.Home.StorageDB()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the record was touched: %v", err)
	}
}

func TestGeneratedTokenIsKeptOutOfTheLog(t *testing.T) {
	o := options(t, `{}`)
	token, err := o.token()
	if err != nil || token == "" || o.Scrub.Text("x "+token) != "x ****" {
		t.Errorf("token %q, %v", token, err)
	}
}

func TestExternalConnectionFollowsTheConfig(t *testing.T) {
	var opts client.Options
	if err := external(config.Temporal{APIKey: "k"}, &opts); err != nil || !opts.ConnectionOptions.TLSDisabled || opts.Credentials == nil {
		t.Errorf("%+v, %v", opts, err)
	}
	opts = client.Options{}
	if err := external(config.Temporal{TLS: config.TLS{Enabled: true, ServerName: "s"}}, &opts); err != nil || opts.ConnectionOptions.TLS == nil || opts.ConnectionOptions.TLS.ServerName != "s" {
		t.Errorf("%+v, %v", opts, err)
	}
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for key, tls := range map[string]config.TLS{
		"temporal.tls.ca_file":   {Enabled: true, CAFile: empty},
		"temporal.tls.cert_file": {Enabled: true, CertFile: empty, KeyFile: empty},
	} {
		if err := external(config.Temporal{TLS: tls}, &client.Options{}); err == nil || !strings.HasPrefix(err.Error(), key) {
			t.Errorf("%s: got %v", key, err)
		}
	}
}

func TestAgentThatIsGoneFromTheConfigIsAnsweredByTheDefaultOne(t *testing.T) {
	a := agents{
		"default": {Model: "m", FallbackModels: []string{"f"}, MaxToolIterations: 7, MaxParallelTools: 3},
		"coder":   {Model: "c"},
	}
	want := activities.Agent{Models: []string{"m", "f"}, MaxToolIterations: 7, MaxParallelTools: 3}
	if got := a.Agent("gone"); !slices.Equal(got.Models, want.Models) || got.MaxToolIterations != 7 || got.MaxParallelTools != 3 {
		t.Errorf("got %+v", got)
	}
	if got := a.Agent("coder"); got.Models[0] != "c" {
		t.Errorf("got %+v", got)
	}
}

func TestEveryConfiguredModelIsInTheCatalog(t *testing.T) {
	o := options(t, `{
		"providers": {"p": {"type": "openai", "base_url": "http://127.0.0.1:1/v1", "api_key": "k"}},
		"models": {"m": {"provider": "p", "model": "id", "temperature": 0.5, "context_window_tokens": 1000, "stream": false}},
		"agents": {"default": {"fallback_models": ["offline"]}}}`)
	c, err := NewCatalog(o.Config)
	if err != nil {
		t.Fatal(err)
	}
	_, m, window, err := c.Model("m")
	if err != nil || m.ID != "id" || *m.Temperature != 0.5 || m.Stream || window != 1000 {
		t.Errorf("%+v, %d, %v", m, window, err)
	}
	if !c.IsOffline("offline") || c.IsOffline("m") {
		t.Error("offline is the fallback, not the model")
	}
}

func TestRegistryHasTheToolsThatAreNotDisabled(t *testing.T) {
	o := options(t, `{"tools": {"disabled": ["bash"]}}`)
	var open closers
	defer func() { _ = open.close() }()
	record, err := store.Open(t.Context(), store.Options{Path: o.Home.StorageDB(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	open.add("the record", record.Close)
	c, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	open.add("the client", func() error { c.Close(); return nil })
	p, err := newParts(o, record, nil, c, flow.Queues{Base: "q"}, nil, &open)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range p.tools.Definitions() {
		names = append(names, d.Name)
	}
	for _, want := range []string{"calculator", "file_edit", "file_read", "file_write", "get_time"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %q", want, names)
		}
	}
	if slices.Contains(names, "bash") {
		t.Error("bash was disabled")
	}
	o.Scrub.Add("hush-hush")
	if got := p.summarize("calculator", `{"expression":"hush-hush"}`); got != "calculator: ****" {
		t.Errorf("summary %q", got)
	}
	if m := p.model("gone"); m.Name != "offline" || !m.Offline {
		t.Errorf("model %+v", m)
	}
}

func TestDeliveryToTerminalsWaitsForAServerAndForSomebodyThere(t *testing.T) {
	s := &terminalSender{}
	if _, err := s.Send(t.Context(), store.Outbound{Channel: "cli"}); !errors.Is(err, activities.ErrNobodyThere) {
		t.Errorf("without a server: %v", err)
	}
}
