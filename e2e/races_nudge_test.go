package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/flow"
)

// A message that is written down at any point of a run and nudged for at that point
// or a later one is answered, also when the run is about to close. No sweep helps.
func nudgedAtEveryPoint(t *testing.T, s *stack, p *points) {
	for _, kind := range []struct {
		name, content string
		every         int // how many points lie between two meetings; which ones are met is chance
		maxSteps      int
		cancel        bool
	}{
		{name: "answer", content: "hello", every: 1},
		{name: "tools and continued as new", content: "calc 1+1", every: 2, maxSteps: 1},
		{name: "cancelled from outside", content: "time", every: 2, cancel: true},
	} {
		t.Run(kind.name, func(t *testing.T) {
			undisturbed := &meeting{}
			s.meet(t, p, kind.content, kind.maxSteps, []*meeting{undisturbed})
			points := undisturbed.n
			require.Contains(t, undisturbed.names, taskCloses)
			all := []*meeting{{last: true}}
			for say := 1 + rand.IntN(kind.every); say <= points; say += kind.every {
				m := &meeting{say: say, nudge: say + rand.IntN(2)*rand.IntN(points-say+1)}
				if kind.cancel {
					m.cancel = 1 + rand.IntN(points)
				}
				all = append(all, m)
			}
			before := p.refusals()
			s.meet(t, p, kind.content, kind.maxSteps, all)
			require.Greater(t, p.refusals(), before, "no nudge met a run at its end")
			for _, m := range all {
				for _, id := range []string{m.first.ID, m.second.ID} {
					if turn := s.turn(id); turn.Status != chat.TurnCompleted && !kind.cancel {
						t.Errorf("said at %d, nudged at %d, cancelled at %d, %v:\n%+v\n%v", m.say, m.nudge, m.cancel, m.names, turn, s.rows(turn))
					}
				}
			}
			s.sound()
		})
	}
}

func (p *points) refusals() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// A begin that has looked and found nothing, and then hangs while the server is told
// again and again that its task goes on: whatever is said meanwhile is answered.
func nudgedWhileABeginHangs(t *testing.T, s *stack, p *points) {
	type hang struct{ before, after int } // how often the task beats before and after the nudge
	var all []*meeting
	for _, h := range []hang{{0, 0}, {0, 1}, {1, 0}, {1, 1}} {
		m := &meeting{s: s, first: s.accept(fmt.Sprint("hang", h), "hello")}
		m.session = m.first.SessionID
		var beats atomic.Int64
		var begins int
		p.watch(m.session, func(point string, _ error) {
			if point == taskBeats {
				beats.Add(1)
			}
			if point != "after "+flow.BeginTurn {
				return
			}
			if begins++; begins != 2 {
				return
			}
			wait := func(n int) {
				enough, patience := beats.Load()+int64(n), time.Now().Add(20*time.Second)
				for beats.Load() < enough && time.Now().Before(patience) {
					time.Sleep(5 * time.Millisecond)
				}
			}
			wait(h.before)
			m.mu.Lock()
			m.sayIt()
			m.nudgeIt()
			m.mu.Unlock()
			wait(h.after)
		})
		o := startOptions(m.session)
		o.WorkflowTaskTimeout = time.Second // a task beats after most of it
		_, err := s.client.ExecuteWorkflow(t.Context(), o, flow.SessionWorkflow, flow.SessionInput{SessionID: m.session, Queues: flow.Queues{Base: "picobot"}})
		require.NoError(t, err)
		all = append(all, m)
	}
	for _, m := range all {
		require.Equal(t, chat.TurnCompleted, s.await(m.first).Status)
		s.eventually(30*time.Second, "the begin that hangs is met", func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.nudged
		})
		require.NoError(t, errors.Join(m.errs...))
		require.Equal(t, chat.TurnCompleted, s.await(m.second).Status)
		s.closed(p, m.session)
	}
	s.sound()
}

// A record that cannot be written keeps begins waiting, not messages from being
// answered: no sweep is needed once it can.
func nudgedWhileTheRecordIsLocked(t *testing.T, s *stack, p *points) {
	var mu sync.Mutex
	failed := 0
	turn := s.accept("locked", "calc 1+1")
	p.watch(turn.SessionID, func(point string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if point == "after "+flow.BeginTurn && err != nil {
			failed++
		}
	})
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.dir, "sessions.db"))
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	defer func() { require.NoError(t, db.Close()) }()
	_, err = db.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
	require.NoError(t, err)
	require.NoError(t, s.nudge(turn.SessionID))
	s.eventually(30*time.Second, "begins fail", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return failed >= 2
	})
	require.NoError(t, s.nudge(turn.SessionID))
	_, err = db.ExecContext(context.Background(), "ROLLBACK")
	require.NoError(t, err)
	require.Equal(t, chat.TurnCompleted, s.await(turn).Status)
	s.closed(p, turn.SessionID)
	s.sound()
}
