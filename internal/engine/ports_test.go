package engine

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.temporal.io/server/common/primitives"

	"picobot/internal/text"
)

// taken listens on a port until the test ends.
func taken(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln.Addr().String()
}

func TestTakenDefaultPortsAreReplacedWithANotice(t *testing.T) {
	o := testOptions(t, t.TempDir())
	o.Address, o.UIAddress = taken(t), taken(t)
	s := start(t, o)
	for _, old := range []string{o.Address, o.UIAddress} {
		_, port, err := net.SplitHostPort(old)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(s.Notices(), func(n text.Message) bool {
			return strings.Contains(text.For(text.English).Say(n), "port "+port+" is taken, using ")
		}) {
			t.Errorf("no notice about %s in %q", port, s.Notices())
		}
	}
	if s.Address() == o.Address || s.UIURL() == "http://"+o.UIAddress {
		t.Errorf("got %s and %s", s.Address(), s.UIURL())
	}
	c := connect(t, s)
	runWorker(t, c)
	startWait(t, c, "here")
	finishWait(t, c, "here")
}

func TestTakenFixedPortsAreAnErrorThatNamesTheOwner(t *testing.T) {
	for name, change := range map[string]func(o *Options, addr string){
		"temporal": func(o *Options, addr string) { o.Address, o.AddressFixed = addr, true },
		"ui":       func(o *Options, addr string) { o.UIAddress, o.UIFixed = addr, true },
	} {
		t.Run(name, func(t *testing.T) {
			o := testOptions(t, t.TempDir())
			addr := taken(t)
			change(&o, addr)
			_, err := Start(t.Context(), o)
			var te *PortTakenError
			if !errors.As(err, &te) || te.Addr != addr || !strings.Contains(err.Error(), addr) {
				t.Fatalf("got %v", err)
			}
			if runtime.GOOS == "linux" && te.Owner.PID != os.Getpid() {
				t.Errorf("owner is %+v, this is process %d", te.Owner, os.Getpid())
			}
		})
	}
}

func TestPortsDiffer(t *testing.T) {
	p, err := choosePorts(t.Context(), Options{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.release()
	seen := map[int]bool{p.frontend.port: true}
	for service, number := range p.internal {
		if number == 0 || seen[number] {
			t.Errorf("%s has port %d", service, number)
		}
		seen[number] = true
	}
	if len(seen) != 1+len(internalServices()) {
		t.Errorf("got %+v", p)
	}
}

func TestDialHost(t *testing.T) {
	for ip, want := range map[string]string{"0.0.0.0": "127.0.0.1", "::": "::1", "127.0.0.1": "127.0.0.1", "10.0.0.7": "10.0.0.7"} {
		if got := dialHost(ip); got != want {
			t.Errorf("%s: got %s, want %s", ip, got, want)
		}
	}
}

func TestPortThatIsLostBeforeTheServerOpensItIsReported(t *testing.T) {
	o := testOptions(t, t.TempDir()).withDefaults()
	o.Logger = slog.New(slog.DiscardHandler) // it is loud about it
	p := prepareOnce(t, o.Dir)
	secret, err := newInternalTLS()
	if err != nil {
		t.Fatal(err)
	}
	at, err := choosePorts(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	at.release()
	_, lost, err := net.SplitHostPort(taken(t))
	if err != nil {
		t.Fatal(err)
	}
	if at.internal[primitives.HistoryService], err = strconv.Atoi(lost); err != nil {
		t.Fatal(err)
	}
	if _, err := launchOn(t.Context(), o, p, at, secret); err == nil || !lostPort(err) {
		t.Fatalf("got %v", err)
	}
	// The next try, with other ports, is not hindered by the failed one.
	c := connect(t, start(t, o))
	runWorker(t, c)
	startWait(t, c, "second try")
	finishWait(t, c, "second try")
}

func TestLostPortIsRecognised(t *testing.T) {
	lost := &fatalError{msg: "Failed to start gRPC listener", cause: "listen tcp 127.0.0.1:1: bind: address already in use"}
	if !lostPort(lost) || lostPort(&fatalError{msg: "other"}) || lostPort(errors.New("address already in use")) {
		t.Error("it is not")
	}
}
