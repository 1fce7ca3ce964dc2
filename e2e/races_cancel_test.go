package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/store"
)

// stopping is a session whose turn is stopped at some point of its run, in one of the
// ways there are, while another message waits behind it.
type stopping struct {
	s       *stack
	chat    string
	content string
	first   store.Turn
	second  store.Turn
	point   int // at which it is stopped
	how     int

	mu      sync.Mutex
	n       int
	stopped string // the turn whose cancel the record took
	errs    []error
}

const (
	bySlashStop = iota // the record knows, whoever runs the turn is told
	byLostStop         // the record knows, and nobody was told: the process died in between
	inTemporal         // the run is cancelled from outside
	ways
)

func (c *stopping) at(string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; c.n == c.point {
		c.stop()
	}
}

func (c *stopping) stop() {
	ctx := context.Background()
	if c.how == inTemporal {
		c.errs = append(c.errs, c.s.tell(func() error {
			return c.s.client.CancelWorkflow(ctx, flow.SessionWorkflowID(c.first.SessionID), "")
		}))
		return
	}
	got, err := c.s.record.Cancel(ctx, c.first.SessionID, "")
	if errors.Is(err, store.ErrNotFound) {
		return
	}
	c.errs = append(c.errs, err)
	c.stopped = got.Turn.ID
	if got.Running && c.how == bySlashStop {
		c.s.dispatch.CancelTurn(got.Turn.SessionID, got.Turn.ID)
	}
}

// A turn that is stopped at any point of its run ends once, as cancelled or completed;
// it has acted at most once, and what was said after it is answered.
func stoppedAtAnyPoint(t *testing.T, s *stack, p *points) {
	endsOnce(t, filepath.Join(s.dir, "sessions.db"))
	var all []*stopping
	for i := range 24 {
		c := &stopping{s: s, chat: fmt.Sprint("stop", i), point: 1 + rand.IntN(20), how: i % ways}
		c.content = []string{"hello", "run echo x >> " + c.chat, "tools calc 1+1; run echo x >> " + c.chat + "; time", "loop 2"}[i/ways%4]
		c.first, c.second = s.accept(c.chat, c.content), s.accept(c.chat, "hello")
		p.watch(c.first.SessionID, c.at)
		require.NoError(t, s.nudge(c.first.SessionID))
		all = append(all, c)
	}
	for _, c := range all {
		first, second := s.await(c.first), s.await(c.second)
		s.closed(p, first.SessionID)
		last := s.await(s.say(c.chat, "hello"))
		s.closed(p, first.SessionID)
		c.mu.Lock()
		what := fmt.Sprintf("%q stopped at %d of %d in way %d: %s, then %s", c.content, c.point, c.n, c.how, first.Status, second.Status)
		require.NoError(t, errors.Join(c.errs...), what)
		c.mu.Unlock()
		if c.how != inTemporal {
			require.Equal(t, c.stopped == first.ID, first.Status == chat.TurnCancelled, what)
			require.Equal(t, c.stopped == second.ID, second.Status == chat.TurnCancelled, what)
			require.Equal(t, c.stopped == last.ID, last.Status == chat.TurnCancelled, what)
		}
		for _, turn := range []store.Turn{first, second, last} {
			require.NotEqual(t, chat.TurnFailed, turn.Status, what)
		}
		if !strings.Contains(c.content, "echo") {
			continue
		}
		acted, err := os.ReadFile(filepath.Join(s.ws.Dir(), c.chat))
		if errors.Is(err, os.ErrNotExist) {
			require.Equal(t, chat.TurnCancelled, first.Status, what)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, "x\n", string(acted), what)
	}
	s.sound()
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
