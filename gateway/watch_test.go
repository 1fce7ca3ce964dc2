package gateway

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/protocol"
	"picobot/store"
)

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
