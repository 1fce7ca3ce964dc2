package netguard_test

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

// nameServer is a DNS server whose answers change: each question about a name takes
// the next of its answers, and the last one stays.
type nameServer struct {
	mu      sync.Mutex
	answers map[string][][]netip.Addr
}

// resolver starts the server and returns a resolver that asks nobody else.
func (s *nameServer) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	var done sync.WaitGroup
	done.Go(func() { s.serve(conn) })
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		done.Wait()
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func (s *nameServer) serve(conn net.PacketConn) {
	buffer := make([]byte, 1500)
	for {
		n, peer, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buffer[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		m.Response, m.Additionals = true, nil
		q := m.Questions[0]
		if q.Type == dnsmessage.TypeA {
			for _, a := range s.next(q.Name.String()) {
				m.Answers = append(m.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: a.As4()},
				})
			}
		}
		if packed, err := m.Pack(); err == nil {
			_, _ = conn.WriteTo(packed, peer)
		}
	}
}

func (s *nameServer) next(name string) []netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.answers[name]
	if len(list) == 0 {
		return nil
	}
	if len(list) > 1 {
		s.answers[name] = list[1:]
	}
	return list[0]
}
