package gateway

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGatewayOnEveryAddressKnowsTheOneThatWasConnectedTo(t *testing.T) {
	g, err := newGuard(Options{Addr: "0.0.0.0:19876", Token: "x"}, &net.TCPAddr{IP: net.IPv4zero, Port: 19876})
	require.NoError(t, err)
	for _, tt := range []struct {
		local net.Addr
		host  string
		want  bool
	}{
		{&net.TCPAddr{IP: net.ParseIP("192.0.2.7"), Port: 19876}, "192.0.2.7:19876", true},
		{&net.TCPAddr{IP: net.ParseIP("::ffff:192.0.2.7"), Port: 19876}, "192.0.2.7:19876", true},
		{&net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Port: 19876}, "[2001:DB8:0::1]:19876", true},
		{&net.TCPAddr{IP: net.ParseIP("192.0.2.7"), Port: 19876}, "192.0.2.8:19876", false},
		{&net.TCPAddr{IP: net.ParseIP("192.0.2.7"), Port: 19876}, "192.0.2.7", false},
		{&net.TCPAddr{IP: net.ParseIP("192.0.2.7"), Port: 19876}, "evil.example:19876", false},
		{&net.UnixAddr{Name: "x"}, "192.0.2.7:19876", false},
		{nil, "192.0.2.7:19876", false},
	} {
		r := &http.Request{Host: tt.host}
		r = r.WithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, tt.local))
		require.Equal(t, tt.want, g.host(r), "%s at %v", tt.host, tt.local)
	}
}

func TestGatewayOnPort80NeedsNoPortInItsName(t *testing.T) {
	g, err := newGuard(Options{Addr: "[::1]:80", Token: "x"}, &net.TCPAddr{IP: net.IPv6loopback, Port: 80})
	require.NoError(t, err)
	for _, host := range []string{"localhost", "localhost:80", "[::1]", "[::1]:80", "127.0.0.1"} {
		require.True(t, g.host((&http.Request{Host: host}).WithContext(t.Context())), host)
	}
}

func TestGatewayOnOneAddressIsNotLocalhost(t *testing.T) {
	g, err := newGuard(Options{Addr: "192.0.2.7:19876", Token: "x"}, &net.TCPAddr{IP: net.ParseIP("192.0.2.7"), Port: 19876})
	require.NoError(t, err)
	require.True(t, g.host((&http.Request{Host: "192.0.2.7:19876"}).WithContext(t.Context())))
	require.False(t, g.host((&http.Request{Host: "localhost:19876"}).WithContext(t.Context())))
}
