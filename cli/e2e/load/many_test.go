package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"picobot/internal/protocol"
)

// chats has n clients connect at once, each with a chat of its own, say a few things
// and read the answers. It returns the clients, still connected.
func (r *rig) chats(n, each int) []*client {
	r.Helper()
	r.round++
	clients := make([]*client, n)
	var g errgroup.Group
	for i := range clients {
		g.Go(func() (err error) {
			c, err := r.dial(r.Context(), protocol.Hello{ClientID: fmt.Sprintf("chat %d.%d", r.round, i)})
			if err != nil {
				return err
			}
			clients[i] = c
			var said []string
			for k := range each {
				said = append(said, fmt.Sprintf("%d of %d", k, i))
				if _, err := c.ask(said[k]); err != nil {
					return fmt.Errorf("chat %d: %w", i, err)
				}
			}
			if err := same(c.texts(), exchange(said)); err != nil {
				return fmt.Errorf("chat %d: %w", i, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		r.Fatal(err)
	}
	return clients
}

func TestTwoHundredChatsAtOnceEachGetTheirRowsOnceAndInOrder(t *testing.T) {
	t.Parallel()
	const chats, each = 200, 2
	r := start(t, nil)
	before := r.open()
	begun := time.Now()
	clients := r.chats(chats, each)
	t.Logf("%d turns of %d chats took %s", chats*each, chats, time.Since(begun).Round(time.Millisecond))
	r.report("with 200 clients")
	for _, c := range clients {
		c.drop()
	}
	r.h.Eventually("every socket is closed", func() bool { return r.open() <= before+10 })
	r.report("after all have gone")
	r.well()
}

func TestFiftyConnectionsOfOneSessionAllSeeEveryRow(t *testing.T) {
	t.Parallel()
	const connections, speakers = 50, 10
	r := start(t, nil)
	var g errgroup.Group
	clients := make([]*client, connections)
	for i := range clients {
		g.Go(func() (err error) {
			clients[i], err = r.dial(t.Context(), protocol.Hello{ClientID: fmt.Sprintf("client %d", i), ChatID: "room"})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, c := range clients {
		g.Go(func() error {
			if i < speakers {
				// Message ids are unique in a chat.
				if err := c.write(protocol.UserMessage{ID: fmt.Sprint(i), Content: fmt.Sprintf("from %d", i)}); err != nil {
					return err
				}
			}
			return c.until("every turn has ended", func() bool { return len(c.ended) == speakers })
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	want := clients[0].texts()
	if len(want) != 2*speakers {
		t.Errorf("%d rows: %q", len(want), want)
	}
	for i, c := range clients {
		if c.welcome.SessionID != clients[0].welcome.SessionID {
			t.Errorf("client %d is in session %s", i, c.welcome.SessionID)
		}
		if err := same(c.texts(), want); err != nil {
			t.Errorf("client %d: %v", i, err)
		}
	}
	r.report("with 50 connections of one session")
	r.well()
}

// Clients connect, take a few frames and hang up, again and again, while turns run.
// Each comes back with what it has.
func TestClientsThatComeAndGoInStormsMissNothingAndGetNothingTwice(t *testing.T) {
	t.Parallel()
	const wanderers, turns = 30, 15
	r := start(t, nil)
	before := r.open()
	speaker := r.must(r.dial(t.Context(), protocol.Hello{ClientID: "speaker"}))
	var said []string
	for i := range turns {
		said = append(said, fmt.Sprintf("calc %d+%d", i, i))
	}
	var g errgroup.Group
	connections := make([]int, wanderers)
	for i := range wanderers {
		g.Go(func() (err error) {
			connections[i], err = r.wander(t.Context(), speaker.welcome.SessionID, 4*turns, rand.New(rand.NewPCG(uint64(i), 1)))
			if err != nil {
				return fmt.Errorf("wanderer %d: %w", i, err)
			}
			return nil
		})
	}
	g.Go(func() error {
		for _, m := range said {
			if _, err := speaker.ask(m); err != nil {
				return err
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, n := range connections {
		all += n
	}
	t.Logf("%d clients came %d times", wanderers, all)
	speaker.drop()
	r.h.Eventually("every socket is closed", func() bool { return r.open() <= before+10 })
	r.report("after the storm")
	r.well()
}

// wander collects rows of a session over many connections, and returns how many.
func (r *rig) wander(ctx context.Context, session string, rows int, random *rand.Rand) (connections int, err error) {
	var have []protocol.Message
	for len(have) < rows {
		connections++
		from := int64(0)
		if n := len(have); n > 0 {
			from = have[n-1].Seq
		}
		c, err := r.dial(ctx, protocol.Hello{ClientID: "wanderer", SessionID: session, FromSeq: &from})
		if err != nil {
			return connections, err
		}
		c.rows = have // so that what comes again is noticed
		for range random.IntN(25) {
			if len(c.rows) == rows {
				break
			}
			if _, err := c.next(); err != nil {
				return connections, err
			}
		}
		have = c.rows
		c.drop()
	}
	for i, row := range have[1:] {
		if row.Seq != have[i].Seq+1 { // the only system row is the first of all
			return connections, fmt.Errorf("between row %d and row %d some are missing", have[i].Seq, row.Seq)
		}
	}
	return connections, nil
}
