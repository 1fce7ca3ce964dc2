package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// guard decides who may come in.
//
// Host and Origin are checked on every endpoint, because a page in the operator's
// own browser can reach a loopback address too: by a name of its own that it lets
// resolve to it, or by simply connecting to it.
type guard struct {
	token   [sha256.Size]byte
	port    string
	names   map[string]bool // host:port of the gateway, in lower case
	origins map[string]bool // allowed besides its own: scheme://host[:port], in lower case
	proxied map[string]bool // hosts of these origins
}

func newGuard(o Options, addr net.Addr) (*guard, error) {
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return nil, err
	}
	ip := at.Addr().Unmap()
	if o.TokenGenerated && !ip.IsLoopback() {
		return nil, fmt.Errorf("%s can be reached from other machines: set gateway.token, or listen on 127.0.0.1", addr)
	}
	g := &guard{
		token: sha256.Sum256([]byte(o.Token)), port: fmt.Sprint(at.Port()),
		names: map[string]bool{}, origins: map[string]bool{}, proxied: map[string]bool{},
	}
	if ip.IsLoopback() || ip.IsUnspecified() {
		g.name("localhost", "127.0.0.1", "::1")
	}
	if host, _, err := net.SplitHostPort(o.Addr); err == nil && host != "" {
		g.name(host)
	}
	g.name(o.Names...)
	for _, origin := range o.AllowedOrigins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" {
			return nil, fmt.Errorf("gateway.allowed_origins: %q is no origin: write scheme://host or scheme://host:port", origin)
		}
		g.origins[strings.ToLower(u.Scheme+"://"+u.Host)] = true
		g.proxied[strings.ToLower(u.Host)] = true
	}
	return g, nil
}

// name makes hosts names of the gateway, at its port.
func (g *guard) name(hosts ...string) {
	for _, h := range hosts {
		h = strings.ToLower(strings.Trim(h, "[]"))
		g.names[net.JoinHostPort(h, g.port)] = true
		if g.port == "80" { // clients leave this one out
			g.names[strings.TrimSuffix(net.JoinHostPort(h, ""), ":")] = true
		}
	}
}

// gate refuses requests that were not meant for this gateway, or that a browser
// sends for a page that may not.
func (d *door) gate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !d.guard.host(r):
			d.writeError(w, r, &httpError{http.StatusForbidden, "forbidden_host", fmt.Sprintf("%q is no address or name of this gateway: use %s, or name the origin that clients see in gateway.allowed_origins", r.Host, d.Addr())})
		case !d.guard.origin(r):
			d.writeError(w, r, &httpError{http.StatusForbidden, "forbidden_origin", "pages of this origin may not use the gateway: add it to gateway.allowed_origins"})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// host reports whether the request was meant for this gateway, directly or by way
// of a proxy that serves an allowed origin and passes its name on.
func (g *guard) host(r *http.Request) bool {
	host := strings.ToLower(r.Host)
	return g.proxied[host] || g.own(host, r)
}

// own reports whether host (with port, in lower case) is the gateway itself.
func (g *guard) own(host string, r *http.Request) bool {
	if g.names[host] {
		return true
	}
	// The address that was connected to is the gateway's own, whichever of the
	// machine's it is, and a literal address cannot have been rebound.
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	if err != nil {
		return false
	}
	asked, err := netip.ParseAddrPort(host)
	if err != nil {
		return false
	}
	return asked == netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
}

// origin reports whether the page that makes a browser send this, if any, may.
func (g *guard) origin(r *http.Request) bool {
	values := r.Header.Values("Origin")
	if len(values) == 0 {
		return true
	}
	if len(values) > 1 {
		return false
	}
	origin := strings.ToLower(values[0])
	host, plain := strings.CutPrefix(origin, "http://")
	return g.origins[origin] || plain && g.own(host, r)
}

// knows reports whether the request presents the token.
func (g *guard) knows(r *http.Request) bool {
	presented := ""
	if scheme, t, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		presented = strings.TrimSpace(t)
	} else if r.URL.Path == socketPath {
		presented = r.URL.Query().Get("token") // browsers cannot set headers there
	}
	sum := sha256.Sum256([]byte(presented)) // of equal length, so that comparing tells nothing
	return subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
}
