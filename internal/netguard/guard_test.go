package netguard_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"picobot/internal/netguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inside is a server on this machine that counts who connects.
type inside struct {
	*httptest.Server
	connections atomic.Int32
	port        string
}

func newInside(t *testing.T, handler http.HandlerFunc) *inside {
	t.Helper()
	s := &inside{}
	s.Server = httptest.NewUnstartedServer(handler)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	require.NoError(t, err)
	s.port = u.Port()
	return s
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

func get(t *testing.T, g *netguard.Guard, url string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	client := &http.Client{Transport: g.Transport()}
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(body), nil
}

func addrs(list ...string) []netip.Addr {
	out := make([]netip.Addr, len(list))
	for i, a := range list {
		out[i] = netip.MustParseAddr(a)
	}
	return out
}

func TestDial_NameThatLeadsInside_IsRefusedBeforeAPacketIsSent(t *testing.T) {
	s := newInside(t, hello)
	dns := &nameServer{answers: map[string][][]netip.Addr{"inside.test.": {addrs("127.0.0.1")}}}
	g := netguard.New(netguard.Options{Resolver: dns.resolver(t)})
	_, err := get(t, g, "http://inside.test:"+s.port)
	require.ErrorContains(t, netguard.Reason(err), "loopback")
	require.NotContains(t, netguard.Reason(err).Error(), "127.0.0.1", "what an inner name stands for is not told")
	require.Zero(t, s.connections.Load())
}

func TestDial_NameThatChangesItsMeaning_IsDecidedAtEachConnection(t *testing.T) {
	s := newInside(t, hello)
	dns := &nameServer{answers: map[string][][]netip.Addr{"rebinds.test.": {addrs("127.0.0.1"), addrs("169.254.169.254")}}}
	g := netguard.New(netguard.Options{AllowPrivate: true, Resolver: dns.resolver(t)})
	body, err := get(t, g, "http://rebinds.test:"+s.port)
	require.NoError(t, err)
	require.Equal(t, "hello", body)
	_, err = get(t, g, "http://rebinds.test:"+s.port)
	require.ErrorContains(t, netguard.Reason(err), "credentials")
	require.EqualValues(t, 1, s.connections.Load())
}

func TestDial_NameWithManyAddresses_IsRefusedAtEachForbiddenOne(t *testing.T) {
	s := newInside(t, hello)
	dns := &nameServer{answers: map[string][][]netip.Addr{"many.test.": {addrs("169.254.169.254", "0.0.0.0", "127.0.0.1")}}}
	g := netguard.New(netguard.Options{Resolver: dns.resolver(t)})
	_, err := get(t, g, "http://many.test:"+s.port)
	require.Error(t, netguard.Reason(err))
	require.Zero(t, s.connections.Load())
}

func TestDial_RedirectThatLeadsInside_IsRefused(t *testing.T) {
	target := newInside(t, hello)
	dns := &nameServer{answers: map[string][][]netip.Addr{
		"outside.test.": {addrs("127.0.0.1")}, "meta.test.": {addrs("169.254.169.254")},
	}}
	s := newInside(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://meta.test:"+target.port, http.StatusFound)
	})
	g := netguard.New(netguard.Options{AllowPrivate: true, Resolver: dns.resolver(t)})
	_, err := get(t, g, "http://outside.test:"+s.port)
	require.ErrorContains(t, netguard.Reason(err), "credentials")
	require.EqualValues(t, 1, s.connections.Load())
	require.Zero(t, target.connections.Load())
}

func TestDial_WrittenAddresses_AreRefusedWithoutCheckURLToo(t *testing.T) {
	s := newInside(t, hello)
	g := netguard.New(netguard.Options{})
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]"} {
		_, err := g.Dialer().DialContext(t.Context(), "tcp", host+":"+s.port)
		require.Error(t, netguard.Reason(err), host)
	}
	_, err := g.Dialer().DialContext(t.Context(), "udp", "8.8.8.8:80")
	require.ErrorContains(t, netguard.Reason(err), "only TCP")
	_, err = g.Dialer().DialContext(t.Context(), "tcp", "8.8.8.8:25")
	require.ErrorContains(t, netguard.Reason(err), "port 25")
	require.Zero(t, s.connections.Load())
}

func TestTransport_ProxyInTheEnvironment_IsIgnored(t *testing.T) {
	proxy := newInside(t, hello)
	for _, name := range []string{"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	dns := &nameServer{answers: map[string][][]netip.Addr{"outside.test.": {addrs("169.254.1.1")}}}
	_, err := get(t, netguard.New(netguard.Options{Resolver: dns.resolver(t)}), "http://outside.test/")
	require.ErrorContains(t, netguard.Reason(err), "link-local")
	require.Zero(t, proxy.connections.Load())
	require.Nil(t, netguard.New(netguard.Options{}).Transport().Proxy)
}

func TestDial_EndedContext_DialsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := netguard.New(netguard.Options{AllowPrivate: true}).Dialer().DialContext(ctx, "tcp", "127.0.0.1:9999")
	require.ErrorIs(t, err, context.Canceled)
}
