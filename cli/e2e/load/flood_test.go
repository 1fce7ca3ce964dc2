package load

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"picobot/internal/protocol"
)

// A few hundred messages wait in one session while people talk in another.
func TestFloodOfOneSessionLeavesAnotherQuick(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	beside, alone := r.flood(200)
	if beside > 20*time.Second {
		t.Errorf("a turn beside a flood took %s, %s alone", beside, alone)
	}
	r.report("after a flood")
	r.well()
}

// flood sends messages to one session, all at once, and returns how long a turn of
// another session takes beside them and alone. Each message must be answered once,
// in order.
func (r *rig) flood(messages int) (beside, alone time.Duration) {
	r.Helper()
	r.round++
	quick := r.must(r.dial(r.Context(), protocol.Hello{ClientID: fmt.Sprintf("quick %d", r.round)}))
	defer quick.drop()
	alone = r.median(quick, 15)

	flooder := r.must(r.dial(r.Context(), protocol.Hello{ClientID: fmt.Sprintf("flooder %d", r.round)}))
	defer flooder.drop()
	var said []string
	for i := range messages {
		said = append(said, fmt.Sprintf("message %d", i))
	}
	var g errgroup.Group
	begun := time.Now()
	g.Go(func() error {
		for _, m := range said {
			if err := flooder.say(m); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go(func() error {
		return flooder.until("every message is answered", func() bool { return len(flooder.ended) == messages })
	})
	beside = r.median(quick, 15)
	if err := g.Wait(); err != nil {
		r.Fatal(err)
	}
	r.Logf("%d messages of one session took %s; a turn of another took %s beside them, %s alone: %.1f times as long",
		messages, time.Since(begun).Round(time.Millisecond), beside, alone, float64(beside)/float64(alone))
	if err := same(flooder.texts(), exchange(said)); err != nil {
		r.Error(err)
	}
	return beside, alone
}

// median returns how long a turn takes.
func (r *rig) median(c *client, turns int) time.Duration {
	r.Helper()
	var took []time.Duration
	for i := range turns {
		d, err := c.ask(fmt.Sprintf("quick %d", i))
		if err != nil {
			r.Fatal(err)
		}
		took = append(took, d)
	}
	slices.Sort(took)
	return took[turns/2].Round(100 * time.Microsecond)
}
