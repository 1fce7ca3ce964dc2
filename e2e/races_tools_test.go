package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/store"
)

// gated is a turn of one step whose calls each wait until the test lets them go.
type gated struct {
	s    *stack
	turn store.Turn
	open func(pos int) // waits until the call runs, and lets it go
}

// gated makes calls that only read: they fetch pages that are kept back.
func (s *stack) gated(name string, calls int) *gated {
	s.Helper()
	doors := newDoors(s.TB)
	var fetches []string
	for pos := range calls {
		fetches = append(fetches, "fetch "+doors.url(pos))
	}
	return &gated{s: s, open: func(pos int) { doors.open(s, pos) }, turn: s.say(name, "tools "+strings.Join(fetches, "; "))}
}

// gatedCommands makes calls that act: they read from pipes.
func (s *stack) gatedCommands(name string, calls int) *gated {
	s.Helper()
	var pipes, commands []string
	for i := range calls {
		pipe := fmt.Sprintf("%s.%d", name, i)
		require.NoError(s, syscall.Mkfifo(filepath.Join(s.ws.Dir(), pipe), 0o600))
		pipes, commands = append(pipes, pipe), append(commands, "run cat "+pipe)
	}
	g := &gated{s: s}
	g.open = func(pos int) {
		var pipe *os.File
		s.eventually(30*time.Second, "the command runs", func() (ok bool) {
			var err error
			// Fails for as long as nobody reads.
			pipe, err = os.OpenFile(filepath.Join(s.ws.Dir(), pipes[pos]), os.O_WRONLY|syscall.O_NONBLOCK, 0)
			if err != nil && !errors.Is(err, syscall.ENXIO) {
				require.NoError(s, err)
			}
			return err == nil
		})
		_, err := fmt.Fprintln(pipe, pos)
		require.NoError(s, errors.Join(err, pipe.Close()))
	}
	g.turn = s.say(name, "tools "+strings.Join(commands, "; "))
	return g
}

// let lets a call go, once it runs, and waits for its result.
func (g *gated) let(pos int) {
	g.s.Helper()
	g.open(pos)
	g.s.eventually(30*time.Second, "the result is written down", func() bool { return g.run(pos).Status.Final() })
}

func (g *gated) run(pos int) store.ToolRun {
	g.s.Helper()
	w, err := g.s.record.ToolWork(g.s.Context(), g.turn.ID, 1, pos)
	if errors.Is(err, store.ErrNotFound) || err == nil && w.Run == nil {
		return store.ToolRun{}
	}
	require.NoError(g.s, err)
	return *w.Run
}

// results waits for the turn's end and returns its tool rows, which must be those of
// its calls, in their order.
func (g *gated) results() []string {
	g.s.Helper()
	require.Equal(g.s, chat.TurnCompleted, g.s.await(g.turn).Status)
	var out, ids, want []string
	for _, r := range g.s.rows(g.turn) {
		switch {
		case r.Role == chat.RoleTool:
			lines := strings.Fields(r.Content) // what it says comes last
			out, ids = append(out, lines[len(lines)-1]), append(ids, r.ToolCallID)
		case len(r.ToolCalls) > 0:
			for _, c := range r.ToolCalls {
				want = append(want, c.ID)
			}
		}
	}
	require.Equal(g.s, want, ids)
	return out
}

// Calls that run side by side may end in any order: the rows are in call order,
// one for each call.
func toolsEndInAnyOrder(t *testing.T, s *stack, _ *points) {
	orders := permutations(3)
	for range 4 { // of the 24 there are: package store has all of them
		orders = append(orders, rand.Perm(4))
	}
	for part := range slices.Chunk(orders, 5) { // no more calls than run at once
		var turns []*gated
		for _, order := range part {
			turns = append(turns, s.gated(fmt.Sprint("order", s.seq.Add(1)), len(order)))
		}
		for n := range 4 {
			for i, order := range part {
				if n >= len(order) {
					continue
				}
				turns[i].let(order[n])
				if n < len(order)-1 {
					require.Len(t, s.rows(turns[i].turn), 2, "no row before the step's last call has ended")
				}
			}
		}
		for i, g := range turns {
			require.Equal(t, []string{"0", "1", "2", "3"}[:len(part[i])], g.results(), "order %v", part[i])
		}
	}
	s.sound()
}

// The worker stops when some calls have ended: those are known, and the next worker
// makes the others again, since they only read.
func toolsEndAcrossARestart(t *testing.T, s *stack, _ *points) {
	order, before := rand.Perm(4), rand.IntN(4)
	g := s.gated("restart", len(order))
	for _, pos := range order[:before] {
		g.let(pos)
	}
	s.stopServing()
	s.serveUnswept()
	for _, pos := range order[before:] {
		g.let(pos)
	}
	require.Equal(t, []string{"0", "1", "2", "3"}, g.results(), "order %v, stopped after %d", order, before)
	s.sound()
}

// Commands of one step run one after another, in the order given. The worker stops
// while one runs: the earlier ones are known, that one was stopped, and the next
// worker goes on with those after it.
func commandsRunInOrderAcrossARestart(t *testing.T, s *stack, _ *points) {
	const calls = 3
	before := rand.IntN(calls)
	g := s.gatedCommands("ordered", calls)
	begun := func(pos int) {
		s.eventually(30*time.Second, "the command is begun", func() bool { return g.run(pos).Status != "" })
		for later := pos + 1; later < calls; later++ {
			require.Empty(t, g.run(later).Status, "command %d runs beside %d", later, pos)
		}
	}
	for pos := range before {
		begun(pos)
		g.let(pos)
	}
	begun(before)
	s.stopServing()
	s.serveUnswept()
	for pos := before + 1; pos < calls; pos++ {
		begun(pos)
		g.let(pos)
	}
	for pos, result := range g.results() {
		if pos == before {
			require.NotEqual(t, fmt.Sprint(pos), result, "it was stopped")
		} else {
			require.Equal(t, fmt.Sprint(pos), result, "stopped at %d", before)
		}
	}
	s.sound()
}

// permutations lists every order of 0..n-1.
func permutations(n int) (out [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, p := range permutations(n - 1) {
		for at := range n {
			out = append(out, slices.Insert(slices.Clone(p), at, n-1))
		}
	}
	return out
}
