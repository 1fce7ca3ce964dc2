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
	s     *stack
	turn  store.Turn
	pipes []string
}

func (s *stack) gated(name string, calls int) *gated {
	s.Helper()
	g := &gated{s: s}
	var commands []string
	for i := range calls {
		pipe := fmt.Sprintf("%s.%d", name, i)
		require.NoError(s, syscall.Mkfifo(filepath.Join(s.ws.Dir(), pipe), 0o600))
		g.pipes, commands = append(g.pipes, pipe), append(commands, "run cat "+pipe)
	}
	g.turn = s.say(name, "tools "+strings.Join(commands, "; "))
	return g
}

// let lets a call go, once its command runs, and waits for its result.
func (g *gated) let(pos int) {
	g.s.Helper()
	var pipe *os.File
	g.s.eventually(30*time.Second, "the command runs", func() (ok bool) {
		var err error
		// Fails for as long as nobody reads.
		pipe, err = os.OpenFile(filepath.Join(g.s.ws.Dir(), g.pipes[pos]), os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil && !errors.Is(err, syscall.ENXIO) {
			require.NoError(g.s, err)
		}
		return err == nil
	})
	_, err := fmt.Fprintln(pipe, pos)
	require.NoError(g.s, errors.Join(err, pipe.Close()))
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
			out, ids = append(out, strings.TrimSpace(r.Content)), append(ids, r.ToolCallID)
		case len(r.ToolCalls) > 0:
			for _, c := range r.ToolCalls {
				want = append(want, c.ID)
			}
		}
	}
	require.Equal(g.s, want, ids)
	return out
}

// Commands that run side by side may end in any order: the rows are in call order,
// one for each call.
func toolsEndInAnyOrder(t *testing.T, s *stack, _ *points) {
	orders := permutations(3)
	for range 4 { // of the 24 there are: package store has all of them
		orders = append(orders, rand.Perm(4))
	}
	for part := range slices.Chunk(orders, 5) { // no more commands than run at once
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

// The worker stops when some commands have ended: those are known, the others were
// stopped, and the next worker goes on with the rows in call order.
func toolsEndAcrossARestart(t *testing.T, s *stack, _ *points) {
	order, before := rand.Perm(4), rand.IntN(4)
	g := s.gated("restart", len(order))
	for pos := range order {
		s.eventually(30*time.Second, "every command is begun", func() bool { return g.run(pos).Status != "" })
	}
	for _, pos := range order[:before] {
		g.let(pos)
	}
	s.stopServing()
	s.serveUnswept()
	got := g.results()
	require.Len(t, got, len(order))
	for pos, result := range got {
		if slices.Contains(order[:before], pos) {
			require.Equal(t, fmt.Sprint(pos), result, "order %v, stopped after %d", order, before)
		} else {
			require.NotEqual(t, fmt.Sprint(pos), result, "order %v, stopped after %d", order, before)
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
