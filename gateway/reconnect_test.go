package gateway

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"picobot/internal/chat"
	"picobot/internal/protocol"
)

// A few clients lose their connection again and again while turns run; each comes
// back with what it has and must end with every row and every end, once.
func TestClientsThatComeAndGoMissNothing(t *testing.T) {
	const turns, clients = 15, 4
	r := newRig(t)
	first, w := r.connect(protocol.Hello{ChatID: "room"})
	first.settled()
	g, _ := errgroup.WithContext(t.Context())
	results := make([]*wanderer, clients)
	for i := range clients {
		results[i] = &wanderer{r: r, session: w.SessionID, seq: start, random: rand.New(rand.NewPCG(uint64(i), 7)), ended: map[string]int{}}
		g.Go(func() error { return results[i].follow(turns) })
	}
	for i := range turns {
		first.say(fmt.Sprint(i), fmt.Sprintf("q%d", i))
		first.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Accepted); return ok })
		turn := r.begin(w.SessionID)
		r.delta(w.SessionID, turn, 1, "thinking")
		call := chat.NewToolCall("c", "bash", "ls")
		r.answer(turn, 1, "", call)
		r.claim(turn, 1, 0, call)
		r.result(turn, 1, 0, call, chat.ToolCompleted, "ok")
		r.delta(w.SessionID, turn, 2, "ah")
		r.answer(turn, 2, fmt.Sprintf("a%d", i))
		first.until(ends(turn))
	}
	require.NoError(t, g.Wait())
	for _, x := range results {
		require.EqualValues(t, 2+4*turns, x.seq) // the welcome, one prompt, and four rows a turn
		require.Len(t, x.ended, turns)
	}
}

// start is the seq of the welcome of a new session.
const start = 1

// wanderer is a client that keeps only what it was shown.
type wanderer struct {
	r       *rig
	session string
	seq     int64
	random  *rand.Rand
	ended   map[string]int
}

func (x *wanderer) follow(turns int) error {
	for len(x.ended) < turns {
		if err := x.connection(turns); err != nil {
			return err
		}
	}
	return nil
}

// connection takes a few frames and hangs up.
func (x *wanderer) connection(turns int) error {
	seq := x.seq
	p, _ := x.r.connect(protocol.Hello{ClientID: "wanderer", SessionID: x.session, FromSeq: &seq})
	defer func() { _ = p.ws.CloseNow() }()
	onThis := map[string]bool{}
	for range 1 + x.random.IntN(12) {
		switch f := p.next().(type) {
		case nil:
			return fmt.Errorf("the gateway hung up: %w", p.gone)
		case protocol.Message:
			// The prompt is a row that clients are not shown.
			if f.Seq != x.seq+1 && x.seq != start {
				return fmt.Errorf("row %d after row %d", f.Seq, x.seq)
			}
			x.seq = f.Seq
		case protocol.Turn:
			if !chat.TurnStatus(f.Status).Final() {
				continue
			}
			if onThis[f.TurnID] {
				return fmt.Errorf("turn %s ended twice on one connection", f.TurnID)
			}
			onThis[f.TurnID] = true
			x.ended[f.TurnID]++
		}
		if len(x.ended) == turns {
			return nil
		}
	}
	return nil
}
