package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/protocol"
)

func strangers(n int) rigOption { return func(o *Options, _ *Deps) { o.MaxStrangers = n } }

// stranger connects and says nothing.
func (r *rig) stranger() net.Conn {
	r.t.Helper()
	c, err := net.Dial("tcp", r.server.Addr())
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = c.Close() })
	require.NoError(r.t, c.SetDeadline(time.Now().Add(patience)))
	return c
}

// ask sends a request and returns the status of its answer.
func (r *rig) ask(c net.Conn, request, header string) int {
	r.t.Helper()
	_, err := fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: %s\r\n%s\r\n", request, r.server.Addr(), header)
	require.NoError(r.t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(r.t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(r.t, err)
	return resp.StatusCode
}

const known = "Authorization: Bearer " + testToken + "\r\n"

func hungUp(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := c.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it was not closed")
}

func TestOneMoreStrangerTakesThePlaceOfTheOldest(t *testing.T) {
	r := newRig(t, strangers(3))
	var waiting []net.Conn
	for range 3 {
		waiting = append(waiting, r.stranger())
	}
	last := r.stranger()
	hungUp(t, waiting[0])
	for _, c := range append(waiting[1:], last) {
		require.Equal(t, http.StatusUnauthorized, r.ask(c, "GET /api/v1/turns", ""))
	}
}

func TestStrangersDoNotDriveOutWhoHasTheToken(t *testing.T) {
	r := newRig(t, strangers(2))
	p, _ := r.connect(protocol.Hello{})
	p.settled()
	p.say("1", "hi")
	turn := expect[protocol.Accepted](p).TurnID

	asking := r.stranger()
	require.Eventually(t, func() bool { return r.strangers() == 1 }, patience, time.Millisecond)
	status := make(chan int, 1)
	unlock := r.lock() // the stop cannot be written down until the strangers have come
	go func() { status <- r.ask(asking, "POST /api/v1/turns/"+turn+"/stop", known) }()
	require.Eventually(t, func() bool { return r.strangers() == 0 }, patience, time.Millisecond, "the token was shown")
	for range 10 {
		defer r.stranger().Close()
	}
	require.Eventually(t, func() bool { return r.strangers() == 2 }, patience, time.Millisecond)
	unlock()
	require.Equal(t, http.StatusOK, <-status)
	p.settled()
}

func TestConnectionsThatAskForNothingAreStrangersAgain(t *testing.T) {
	r := newRig(t, strangers(2))
	idle := r.stranger()
	require.Equal(t, http.StatusOK, r.ask(idle, "GET /api/v1/turns", known))
	require.Equal(t, http.StatusOK, r.ask(idle, "GET /api/v1/turns", known), "it may ask again")
	require.Eventually(t, func() bool { return r.strangers() == 1 }, patience, time.Millisecond)
	r.stranger()
	r.stranger()
	hungUp(t, idle)
}

func (r *rig) strangers() int {
	r.server.lobby.mu.Lock()
	defer r.server.lobby.mu.Unlock()
	return r.server.lobby.waiting.Len()
}
