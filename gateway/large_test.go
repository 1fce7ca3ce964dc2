package gateway

import (
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"picobot/internal/protocol"
)

// tight is a gateway in which two large frames have room.
func tight(o *Options, _ *Deps) { o.MaxMessageBytes, o.LargeBytes = 20_000, 1 }

// large is a frame that needs room.
var large = `{"type":"ping","padding":"` + strings.Repeat("x", small) + `"}`

// beginLarge sends a large frame but for its end, and takes room with it.
func (p *peer) beginLarge() {
	p.t.Helper()
	w, err := p.ws.Writer(p.t.Context(), websocket.MessageText)
	require.NoError(p.t, err)
	_, err = w.Write([]byte(large))
	require.NoError(p.t, err)
	_, err = w.Write([]byte(strings.Repeat(" ", 10_000))) // pushes out what the library keeps
	require.NoError(p.t, err)
}

func (r *rig) taken() int { return len(r.server.large) }

func TestLargeFrameThatDoesNotEndMakesRoomForOthers(t *testing.T) {
	r := newRig(t, tight, timing(func(x *Timing) { x.Write = 500 * time.Millisecond }))
	for _, chat := range []string{"a", "b"} {
		p, _ := r.connect(protocol.Hello{ChatID: chat})
		p.beginLarge()
	}
	require.Eventually(t, func() bool { return r.taken() == 2 || strings.Contains(r.logs.String(), "dropped") }, patience, time.Millisecond)
	waits, _ := r.connect(protocol.Hello{ChatID: "c"})
	waits.sendRaw(large)
	quick, _ := r.connect(protocol.Hello{ChatID: "d"})
	quick.settled() // small frames need no room
	waits.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Pong); return ok })
	require.Contains(t, r.logs.String(), "did not end it in time")
	require.Eventually(t, func() bool { return r.taken() == 0 }, patience, time.Millisecond)
}

func TestLargeFramesGiveTheirRoomBackHoweverTheyEnd(t *testing.T) {
	r := newRig(t, tight)
	for name, end := range map[string]func(p *peer){
		"it is answered": func(p *peer) {
			p.sendRaw(large)
			p.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Pong); return ok })
		},
		"it is wrong": func(p *peer) { p.sendRaw(large + "}"); p.settled() },
		"it is binary": func(p *peer) {
			require.NoError(t, p.ws.Write(t.Context(), websocket.MessageBinary, []byte(large)))
			p.settled()
		},
		"it is too large":     func(p *peer) { p.sendRaw(large + large); require.Equal(t, websocket.StatusMessageTooBig, p.hungUp()) },
		"its peer goes":       func(p *peer) { p.beginLarge(); require.NoError(t, p.ws.CloseNow()) },
		"its peer goes after": func(p *peer) { p.sendRaw(large); require.NoError(t, p.ws.CloseNow()) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				p, _ := r.connect(protocol.Hello{})
				end(p)
				_ = p.ws.CloseNow()
			}
			require.Eventually(t, func() bool { return r.taken() == 0 }, patience, time.Millisecond)
			p, _ := r.connect(protocol.Hello{})
			p.sendRaw(large)
			p.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Pong); return ok })
			_ = p.ws.CloseNow()
		})
	}
}

func TestPeerThatWaitsForRoomIsNotSilent(t *testing.T) {
	r := newRig(t, tight, timing(func(x *Timing) { x.Ping, x.Silence = 10*time.Millisecond, 100*time.Millisecond }))
	r.server.large <- struct{}{}
	r.server.large <- struct{}{}
	p, _ := r.connect(protocol.Hello{})
	p.sendRaw(large)
	timer := time.NewTimer(500 * time.Millisecond) // silence, several times
	defer timer.Stop()
	<-timer.C
	<-r.server.large
	p.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Pong); return ok })
	<-r.server.large
}

func TestRoomForLargeFramesFollowsFromTheirSize(t *testing.T) {
	require.Equal(t, 4, largeSlots(32<<20, 8<<20))
	require.Equal(t, 2, largeSlots(32<<20, 100<<20), "one peer alone must not hold up another")
	require.Equal(t, mostLarge, largeSlots(32<<20, 4<<10))
}
