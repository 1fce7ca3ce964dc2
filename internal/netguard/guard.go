package netguard

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

const (
	dialTimeout    = 10 * time.Second
	maxHeaderBytes = 256 << 10
)

// Options of a guard.
type Options struct {
	// AllowPrivate opens the private ranges and loopback. Nothing opens the rest:
	// metadata services, link-local and multicast addresses. What listens on this
	// machine must then ask for a key of its own, as the gateway and Temporal do.
	AllowPrivate bool
	// Resolver looks up names; nil = the system's.
	Resolver *net.Resolver
}

// Guard decides what may be reached. It is immutable and safe for concurrent use.
type Guard struct {
	opts  Options
	table table
}

// New returns a guard.
func New(opts Options) *Guard { return &Guard{opts: opts, table: newTable()} }

// Class says what kind of address a is.
func (g *Guard) Class(a netip.Addr) Class { return g.table.class(a) }

// Check returns a *Refusal unless a may be reached.
func (g *Guard) Check(a netip.Addr) error { return g.checkAddr(shown(a.String()), a) }

func (g *Guard) checkAddr(what string, a netip.Addr) error {
	c := g.table.class(a)
	liftable := c == Private || c == Loopback
	if c == Public || (liftable && g.opts.AllowPrivate) {
		return nil
	}
	return refuseClass(what, c, liftable)
}

// Dialer returns a dialler that connects only where the guard lets it.
func (g *Guard) Dialer() *net.Dialer {
	return &net.Dialer{
		Timeout:        dialTimeout,
		Resolver:       g.opts.Resolver,
		ControlContext: g.control,
	}
}

// control is called with each address that is about to be connected to, after the
// name was looked up and before a packet is sent.
func (g *Guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return refuse("only TCP is spoken, not %s", shown(network))
	}
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return refuse("the address that the host's name leads to cannot be read")
	}
	if badPort(a.Port()) {
		return refuse("port %d belongs to a service that does not speak HTTP", a.Port())
	}
	return g.checkAddr("what the host's name leads to", a.Addr())
}

// Transport returns a transport that dials through the guard and through nothing
// else: it knows no proxy, which would do the dialling in its place. It keeps no
// connections, so that each request is decided by itself.
func (g *Guard) Transport() *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // on purpose, not from the environment
		DialContext:            g.Dialer().DialContext,
		DisableKeepAlives:      true,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    dialTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// Reason returns the refusal in err, or nil.
func Reason(err error) error {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return nil
}
