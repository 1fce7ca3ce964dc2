package gateway

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/live"
	"picobot/internal/protocol"
	"picobot/store"
)

// The promise is 100 ms from the commit to the socket. What has to be waited for is half
// of it at most: time passes in the bubble only while everybody in it waits, so no machine
// is too slow for this.
func TestRowsOfAnotherProcess_WakeReadersWithinFiftyMilliseconds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	synctest.Test(t, func(t *testing.T) {
		here, err := store.Open(t.Context(), store.Options{Path: path, Now: time.Now})
		require.NoError(t, err)
		there, err := store.Open(t.Context(), store.Options{Path: path, Now: time.Now})
		require.NoError(t, err)
		hub := live.NewHub()
		s := &Server{opts: Options{}.withDefaults(), deps: Deps{Record: here, Hub: hub}, door: door{log: slog.New(slog.DiscardHandler)}}
		w := hub.Watch("cli:me:d")
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.watchRecord(ctx, make(chan struct{}, 1))
		}()
		<-w.C
		w.Take()
		for i := range 20 {
			time.Sleep(time.Duration(i) * 7 * time.Millisecond) // at any point of a period
			_, err := there.Accept(t.Context(), store.Inbound{Channel: "cli", ChatID: "me", ExternalID: string(rune('a' + i)), SenderID: "me", Content: "hi"})
			require.NoError(t, err)
			wrote := time.Now()
			<-w.C
			_, changed := w.Take()
			require.True(t, changed)
			require.LessOrEqual(t, time.Since(wrote), 50*time.Millisecond)
		}
		stop()
		<-done
		w.Close()
		require.NoError(t, there.Close())
		require.NoError(t, here.Close())
	})
}

func TestWhatAnotherProcessWritesIsShown(t *testing.T) {
	r := newRig(t, func(o *Options, _ *Deps) { o.WatchRecord, o.Timing.Poll = true, 5*time.Millisecond })
	p, w := r.connect(protocol.Hello{})
	p.say("1", "hi")
	expect[protocol.Accepted](p)
	expect[protocol.Turn](p) // queued

	// A second store on the same file wakes nobody here, like one in another process.
	here := r.record
	there, err := store.Open(t.Context(), store.Options{Path: r.path, Now: time.Now})
	require.NoError(t, err)
	defer func() { require.NoError(t, there.Close()) }()
	r.record = there
	r.run(w.SessionID, "from afar")
	o := r.enqueue(store.Outbound{ChatID: "me", Origin: "job1", Content: "wake up"})
	r.record = here

	rows, notices := []string{}, 0
	for len(rows) < 4 || notices < 1 {
		f := p.next()
		require.NotNil(t, f)
		if n, ok := f.(protocol.Notice); ok && n.ID == o.ID {
			notices++
			continue
		}
		rows = append(rows, words([]protocol.ServerFrame{f})...)
	}
	require.Equal(t, []string{"started", "user hi", "assistant from afar", "completed"}, rows)
	require.Eventually(t, func() bool { return r.outbound(o.ID).Status == "sent" }, patience, 5*time.Millisecond)
}
