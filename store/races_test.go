package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/store"
)

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

// claims says whether a call acts outside, and so claims its run before it acts.
// Every step has calls of both kinds.
func claims(pos int) bool { return pos%2 == 0 }

// toolStep runs a step of calls that start at once and end in the given order. After
// the first `before` of them the process dies; a second attempt finds the rest open
// and ends them in the same order, and then what the dead attempt had comes in late.
func toolStep(t *testing.T, s *store.Store, id string, order []int, before int) {
	t.Helper()
	ctx := t.Context()
	turn := accept(t, s, message(id, "go"))
	require.Equal(t, turn.ID, begin(t, s, turn.SessionID).Turn.ID)
	var ids []string
	for i := range order {
		ids = append(ids, fmt.Sprint(id, ".", i))
	}
	first := answer(t, s, turn.ID, 1, call(ids...)).Answer.Seq
	claim := func(pos int, want bool) {
		_, fresh, err := s.ClaimTool(ctx, toolRun(turn.ID, 1, pos, ids[pos]))
		require.NoError(t, err)
		require.Equal(t, want, fresh)
	}
	end := func(pos int, status chat.ToolStatus, result string) chat.ToolStatus {
		r := toolRun(turn.ID, 1, pos, ids[pos])
		r.Status, r.Result = status, result
		run, err := s.CommitTool(ctx, r)
		require.NoError(t, err)
		return run.Status
	}
	results := func() []store.Row {
		r, err := s.Messages(ctx, turn.SessionID, first, 0)
		require.NoError(t, err)
		return r
	}
	for pos := range order {
		if claims(pos) {
			claim(pos, true)
		}
	}
	want := make([]string, len(order))
	for n, pos := range order {
		require.Empty(t, results(), "no row before the step's last call has ended")
		if n == before {
			p := begin(t, s, turn.SessionID)
			var open []int
			for _, o := range p.Open {
				open = append(open, o.Position)
			}
			require.Equal(t, 1, p.Step)
			require.Equal(t, slices.Sorted(slices.Values(order[n:])), open)
		}
		status := chat.ToolCompleted
		if n >= before && claims(pos) {
			claim(pos, false)
			status = chat.ToolUnknown
		}
		want[pos] = fmt.Sprintf("%s %s", status, ids[pos])
		require.Equal(t, status, end(pos, status, want[pos]))
	}
	for pos := range order { // the dead attempt was not dead
		end(pos, chat.ToolFailed, "late")
	}
	got := results()
	require.Len(t, got, len(order), "one result for each call")
	for i, r := range got {
		require.Equal(t, ids[i], r.ToolCallID)
		require.Equal(t, want[i], r.Content)
	}
	require.Equal(t, 2, begin(t, s, turn.SessionID).Step)
	answer(t, s, turn.ID, 2, say("done"))
}

func TestTools_EveryOrderOfUpToFourCalls_WithACrashAnywhere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	seq := 0
	for n := 1; n <= 4; n++ {
		for i, order := range permutations(n) {
			before := (i + n) % (n + 1) // each place of a crash in turn; n: no crash
			seq++
			toolStep(t, s, fmt.Sprintf("m%d/%v/%d", seq, order, before), order, before)
		}
	}
	sound(t, path)
}

func TestTools_SixCallsInAnyOrder_WithACrashAnywhere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	for i := range 5 {
		order := rand.Perm(6)
		toolStep(t, s, fmt.Sprintf("m%d/%v", i, order), order, rand.IntN(7))
	}
	sound(t, path)
}

// race is a session that everybody works at, at once: people who write and stop,
// and runs that think each of them is the only one.
type race struct {
	*testing.T
	s       *store.Store
	session string

	mu      sync.Mutex
	turns   []string
	stopped map[string]bool // turns whose cancel was accepted
	acts    map[string]int  // how often a call acted outside
	errs    []error
}

func (r *race) note(err error) {
	if err == nil || errors.Is(err, store.ErrTurnEnded) || errors.Is(err, store.ErrNotFound) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

func pause(rnd *rand.Rand) {
	for range rnd.IntN(40) {
		runtime.Gosched()
	}
}

func (r *race) write(rnd *rand.Rand, n int) {
	for i := range n {
		a, err := r.s.Accept(r.Context(), message("m"+strconv.Itoa(i), "hello"))
		r.note(err)
		r.mu.Lock()
		r.turns = append(r.turns, a.Turn.ID)
		r.mu.Unlock()
		pause(rnd)
	}
}

// stop stops turns in every way there is, each /stop sent twice.
func (r *race) stop(rnd *rand.Rand, who string, n int) {
	for i := range n {
		pause(rnd)
		var named string
		r.mu.Lock()
		if len(r.turns) > 0 {
			named = r.turns[rnd.IntN(len(r.turns))]
		}
		r.mu.Unlock()
		if rnd.IntN(2) == 0 {
			c, err := r.s.Cancel(r.Context(), r.session, named)
			r.note(err)
			r.stops(c, err)
			continue
		}
		for range 2 {
			var c store.Cancelled
			got, err := r.s.RunCommand(r.Context(), message(fmt.Sprint(who, i), "/stop"), "stop", func(tx *store.CommandTx) (a store.CommandAnswer, err error) {
				if c, err = tx.Cancel(""); errors.Is(err, store.ErrNotFound) {
					c, err = store.Cancelled{}, nil
				}
				return a, err
			})
			r.note(err)
			if !got.Duplicate {
				r.stops(c, err)
			}
		}
	}
}

func (r *race) stops(c store.Cancelled, err error) {
	if err != nil || c.Turn.ID == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped[c.Turn.ID] = true
}

// run is a session's run: it begins turns and works at them until nothing waits
// (once) or ctx ends.
func (r *race) run(ctx context.Context, rnd *rand.Rand, once bool) {
	for ctx.Err() == nil {
		p, err := r.s.BeginTurn(r.Context(), store.Begin{SessionID: r.session, WorkflowID: "w", RunID: "r"})
		r.note(err)
		if err != nil || p == nil {
			if once {
				return
			}
			pause(rnd)
			continue
		}
		status := chat.TurnCancelled
		if p.Turn.CancelRequestedAt == 0 {
			if status, err = r.work(rnd, p); err == nil {
				continue
			}
			r.note(err)
		}
		_, err = r.s.FinishTurn(r.Context(), store.Finish{TurnID: p.Turn.ID, Status: status, Text: "it failed", NotRun: "not run", Unknown: "unknown"})
		r.note(err)
	}
}

// work goes on with a turn from where it stands. An error says that it goes no
// further, and how it is to be ended.
func (r *race) work(rnd *rand.Rand, p *store.Position) (chat.TurnStatus, error) {
	turn, step, open := p.Turn.ID, p.Step, p.Open
	for {
		if len(open) == 0 {
			if rnd.IntN(6) == 0 {
				pause(rnd)
				return chat.TurnFailed, store.ErrTurnEnded // its model is gone
			}
			a := say("done")
			if calls := rnd.IntN(4); step < 4 && calls > 0 {
				var ids []string
				for i := range calls {
					ids = append(ids, fmt.Sprintf("%s.%d.%d", turn, step, i))
				}
				a = call(ids...)
			}
			pause(rnd)
			c, err := r.s.CommitAnswer(r.Context(), turn, step, a)
			if err != nil {
				return chat.TurnCancelled, err
			}
			if c.Turn.Status.Final() {
				return "", nil
			}
			for i, call := range c.Answer.ToolCalls {
				open = append(open, store.OpenCall{Position: i, Call: call})
			}
		}
		errs := make([]error, len(open))
		var wg sync.WaitGroup
		for i, o := range open {
			seed := rnd.Uint64()
			wg.Go(func() { errs[i] = r.tool(rand.New(rand.NewPCG(seed, 0)), turn, step, o) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return chat.TurnCancelled, err
		}
		step, open = step+1, nil
	}
}

func (r *race) tool(rnd *rand.Rand, turn string, step int, o store.OpenCall) error {
	run, fresh, err := r.s.ClaimTool(r.Context(), toolRun(turn, step, o.Position, o.Call.ID))
	if err != nil || run.Status.Final() {
		return err
	}
	run.Status, run.Result = chat.ToolUnknown, "unknown"
	if fresh {
		r.mu.Lock()
		r.acts[o.Call.ID]++
		r.mu.Unlock()
		pause(rnd)
		run.Status, run.Result = chat.ToolCompleted, "acted"
	}
	_, err = r.s.CommitTool(r.Context(), run)
	return err
}

// A turn ends once and for all, as cancelled exactly when a cancel of it was
// accepted, whatever meets whatever; no call acts twice; nothing is left waiting.
func TestCancel_AgainstBeginToolAndFinish_InAnyInterleaving(t *testing.T) {
	t.Parallel()
	for range 3 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sessions.db")
			s, _ := openAt(t, path)
			sess, _, err := s.OpenChat(t.Context(), store.NewSession{Channel: "cli", ChatID: "c1"})
			require.NoError(t, err)
			endsOnce(t, path)
			r := &race{T: t, s: s, session: sess.ID, stopped: map[string]bool{}, acts: map[string]int{}}
			source := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) }
			working, leave := context.WithCancel(t.Context())
			var people, runs sync.WaitGroup
			runs.Go(func() { r.run(working, source(1), false) })
			runs.Go(func() { r.run(working, source(2), false) })
			people.Go(func() { r.write(source(3), 12) })
			people.Go(func() { r.stop(source(4), "a", 6) })
			people.Go(func() { r.stop(source(5), "b", 6) })
			people.Wait()
			leave()
			runs.Wait()
			r.run(t.Context(), source(6), true)

			require.NoError(t, errors.Join(r.errs...))
			sound(t, path)
			require.Empty(t, unfinished(t, s, 0))
			require.Len(t, r.turns, 12)
			for _, id := range r.turns {
				turn, err := s.Turn(t.Context(), id)
				require.NoError(t, err)
				require.True(t, turn.Status.Final())
				require.Equal(t, r.stopped[id], turn.Status == chat.TurnCancelled, "turn %s is %s", id, turn.Status)
			}
			for id, n := range r.acts {
				require.Equal(t, 1, n, "call %s", id)
			}
		})
	}
}

// endsOnce makes the file itself refuse a turn that changes after it has ended.
func endsOnce(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	_, err = db.ExecContext(t.Context(), `CREATE TRIGGER ends_once BEFORE UPDATE ON turns WHEN old.finished_at IS NOT NULL
		BEGIN SELECT raise(ABORT, 'the turn has ended before'); END`)
	require.NoError(t, err)
}
