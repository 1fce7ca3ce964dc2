package store

import (
	"context"
	"errors"
	"fmt"

	"picobot/internal/chat"
)

// Due says whether a session is to be compacted.
type Due int

// What can be due.
const (
	DueNothing Due = iota
	DueSize        // the active segment has grown large
	DueAsked       // a person asked for it, however large it is
)

// Compacting is what a session knows of its compactions.
type Compacting struct {
	Due Due
	// Strikes counts fruitless tries in a row, Size is how many tokens the segment
	// had at the last of them.
	Strikes int
	Size    int64
	// Estimate and Reported are the tokens of the last answered request, as they were
	// estimated and as its provider reported them; 0 = unknown.
	Estimate, Reported int64
}

// States of a compaction.
const (
	CompactionSummarised = "summarised" // waits for its commit
	CompactionCommitted  = "committed"
	CompactionFruitless  = "fruitless" // it would have gained too little
	CompactionDropped    = "dropped"   // the conversation went another way meanwhile
)

// Sources of a summary.
const (
	SummaryByModel      = "model"
	SummaryByTranscript = "transcript" // the cut transcript itself
)

// Compaction is one try to put a summary in the place of a session's older rows.
type Compaction struct {
	ID        string
	SessionID string
	Base      int64  // the session's reset_cutoff_seq that it was made for
	Cut       int64  // seq of the first row that stays
	State     string // see above
	Source    string
	Summary   string // "" once it has ended: then it is a row of the conversation
	Before    int64  // tokens of the active segment, as estimated
	After     int64  // with the summary
	// Outbound are the outbox rows, written just now, that tell whoever asked for it.
	Outbound []string
}

const compactionColumns = `id, session_id, base_seq, cut_seq, state, source, coalesce(summary, ''), tokens_before, tokens_after`

func scanCompaction(r scanner) (Compaction, error) {
	var c Compaction
	err := r.Scan(&c.ID, &c.SessionID, &c.Base, &c.Cut, &c.State, &c.Source, &c.Summary, &c.Before, &c.After)
	return c, found(err)
}

// Compactions lists a session's compactions, oldest first.
func (s *Store) Compactions(ctx context.Context, sessionID string) ([]Compaction, error) {
	var out []Compaction
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT `+compactionColumns+` FROM compactions WHERE session_id = ? ORDER BY created_at, rowid`, sessionID)
		out, err = collect(rows, err, scanCompaction)
		return err
	})
	return out, err
}

// CompactionPlan is what a compaction of a session would do, from one snapshot.
type CompactionPlan struct {
	Session Session
	// Cut is the seq of the first row that stays, a user row; 0 = the segment has no
	// more user turns than are to stay.
	Cut    int64
	Weight int // of the whole active segment
	Older  int // of what a summary would replace
	// Open is a compaction of this segment that has its summary and waits for its
	// commit: nobody need be asked again. Zero = none.
	Open Compaction
}

// PlanCompaction looks at a session's active segment. The newest keepTurns user turns
// stay, and before them the newest agent prompt and scheduled system prompt; take gets
// everything else that people, models and tools said before them, newest first. weigh
// says how large a message is.
func (s *Store) PlanCompaction(ctx context.Context, sessionID string, keepTurns int, weigh func(chat.Message) int, take func(chat.Message)) (CompactionPlan, error) {
	var p CompactionPlan
	err := s.view(ctx, func(q querier) (err error) {
		p, err = planCompaction(q, sessionID, keepTurns, weigh, take, func(CompactionPlan) bool { return false })
		return err
	})
	return p, err
}

// planCompaction reads newest first, and no more of what a summary would replace once
// enough has been seen of it.
func planCompaction(q querier, sessionID string, keepTurns int, weigh func(chat.Message) int, take func(chat.Message), enough func(CompactionPlan) bool) (p CompactionPlan, err error) {
	if p.Session, err = sessionByID(q, sessionID); err != nil {
		return p, err
	}
	if p.Open, err = openCompaction(q, p.Session); err != nil && !errors.Is(err, ErrNotFound) {
		return p, err
	}
	if p.Cut, err = cutBefore(q, p.Session, keepTurns); err != nil {
		return p, err
	}
	staying, err := lastingRows(q, p.Session)
	if err != nil {
		return p, err
	}
	lasting := map[int64]bool{}
	for _, seq := range staying {
		if seq >= p.Cut {
			continue // it stays with its turn
		}
		// Weighed before what is behind it, so that Weight without Older is known from the
		// first row on that a summary would replace: then more of these only adds to the gain.
		r, err := scanRow(q.row(`SELECT `+rowColumns+` FROM messages WHERE session_id = ? AND seq = ?`, sessionID, seq))
		if err != nil {
			return p, err
		}
		lasting[seq] = true
		p.Weight += weigh(r.Message)
	}
	rows, err := q.rows(`SELECT `+rowColumns+` FROM messages WHERE session_id = ? AND seq > ? ORDER BY seq DESC`, sessionID, p.Session.ResetCutoffSeq)
	if err != nil {
		return p, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what matters
	for rows.Next() {
		r, err := scanRow(rows)
		if err != nil {
			return p, err
		}
		if r.Marker == chat.MarkerWelcome || lasting[r.Seq] {
			continue // no model is told; or it is weighed
		}
		w := weigh(r.Message)
		p.Weight += w
		if r.Seq >= p.Cut {
			continue
		}
		p.Older += w
		// A prompt that a newer one has replaced is nobody's words, and holds no more.
		if r.Marker != chat.MarkerAgentPrompt && r.Marker != chat.MarkerScheduledSystemPrompt && take != nil {
			take(r.Message)
		}
		if enough(p) {
			return p, nil
		}
	}
	return p, rows.Err()
}

// cutBefore returns the seq of the user row that begins the newest keepTurns user
// turns of the active segment, or 0 when there are no turns before them.
func cutBefore(q querier, sess Session, keepTurns int) (int64, error) {
	var cut, turns int64
	err := q.row(`SELECT coalesce(min(seq), 0), count(*) FROM (SELECT seq FROM messages
		WHERE session_id = ? AND seq > ? AND role = 'user' ORDER BY seq DESC LIMIT ?)`, sess.ID, sess.ResetCutoffSeq, keepTurns).Scan(&cut, &turns)
	if err != nil || turns < int64(keepTurns) {
		return 0, err
	}
	var more bool
	err = q.row(`SELECT EXISTS (SELECT 1 FROM messages WHERE session_id = ? AND seq > ? AND seq < ? AND role = 'user')`,
		sess.ID, sess.ResetCutoffSeq, cut).Scan(&more)
	if err != nil || !more {
		return 0, err
	}
	return cut, nil
}

// lastingRows lists the seqs of the system rows that hold for what comes after them:
// of the active segment's prompts the newest of each kind.
func lastingRows(q querier, sess Session) ([]int64, error) {
	rows, err := q.rows(`SELECT max(seq) FROM messages WHERE session_id = ? AND seq > ? AND marker IN (?, ?) GROUP BY marker ORDER BY max(seq)`,
		sess.ID, sess.ResetCutoffSeq, chat.MarkerAgentPrompt, chat.MarkerScheduledSystemPrompt)
	return collect(rows, err, scanOne[int64])
}

// openCompaction returns the session's compaction that waits for its commit, if it
// is one of the present segment.
func openCompaction(q querier, sess Session) (Compaction, error) {
	return scanCompaction(q.row(`SELECT `+compactionColumns+` FROM compactions WHERE session_id = ? AND state = 'summarised' AND base_seq = ?`,
		sess.ID, sess.ResetCutoffSeq))
}

// CompactionsDue lists the sessions that are to be compacted.
func (s *Store) CompactionsDue(ctx context.Context) ([]string, error) {
	var out []string
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT id FROM sessions WHERE compaction > 0 AND deleted_at IS NULL ORDER BY id`)
		out, err = collect(rows, err, scanOne[string])
		return err
	})
	return out, err
}

// SetCompactionDue says that a session has grown large. One that a person asked for stays so.
func (s *Store) SetCompactionDue(ctx context.Context, sessionID string) error {
	return s.update(ctx, func(t *tx) error { return t.compactionDue(sessionID, DueSize) })
}

func (t *tx) compactionDue(sessionID string, due Due) error {
	_, err := t.exec(`UPDATE sessions SET compaction = max(compaction, ?) WHERE id = ?`, due, sessionID)
	return err
}

// AskCompaction says that a person wants the session compacted now, and reports
// whether there is anything to compact: worth decides it from the plan, and is asked
// with every row that would be replaced, because the record is locked meanwhile and a
// session that nobody ever compacted may be of any length. Fails with
// ErrReadOnlySession.
func (c *CommandTx) AskCompaction(keepTurns int, weigh func(chat.Message) int, worth func(CompactionPlan) bool) (bool, error) {
	if !c.Writable() {
		return false, ErrReadOnlySession
	}
	p, err := planCompaction(c.t, c.Session.ID, keepTurns, weigh, nil, worth)
	if err != nil || p.Open.ID == "" && !worth(p) {
		return false, err
	}
	return true, c.t.compactionDue(c.Session.ID, DueAsked)
}

// CompactionNotDue takes back what was due when the session was looked at. What was
// asked for since stays. Whoever asked for it is told what say says; what is to be
// delivered is returned.
func (s *Store) CompactionNotDue(ctx context.Context, seen Session, say Telling) ([]string, error) {
	var out []string
	err := s.update(ctx, func(t *tx) error {
		n, err := t.exec(`UPDATE sessions SET compaction = 0 WHERE id = ? AND compaction = ?`, seen.ID, seen.Compacting.Due)
		if out = nil; err == nil && n > 0 {
			out, err = t.tellAsked(seen, Compaction{}, say)
		}
		return err
	})
	return out, err
}

// requestSize keeps how large the last answered request of a session was.
func (t *tx) requestSize(sessionID string, a Answer) error {
	if a.Estimate <= 0 || a.Reported <= 0 {
		return nil
	}
	if _, err := t.exec(`UPDATE sessions SET request_estimate = ?, request_tokens = ? WHERE id = ?`, a.Estimate, a.Reported, sessionID); err != nil {
		return fmt.Errorf("keep the size of a request: %w", err)
	}
	return nil
}
