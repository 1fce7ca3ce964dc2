package store

import (
	"context"
	"errors"
	"fmt"
)

// target finds the session a message belongs to, or opens one.
func (t *tx) target(m Inbound) (Session, error) {
	n := m.New
	n.Channel, n.ChatID = m.Channel, m.ChatID
	if m.SessionID == "" {
		return t.goOn(n, m.SentAt, Session{})
	}
	sess, err := sessionByID(t, m.SessionID)
	switch {
	case errors.Is(err, ErrNotFound) && m.Follow: // it was erased
		return t.goOn(n, m.SentAt, Session{})
	case err != nil:
		return sess, err
	case sess.Channel != m.Channel:
		return sess, ErrReadOnlySession
	case !m.Follow && sess.DeletedAt != 0:
		return sess, ErrReadOnlySession
	case !m.Follow:
		return sess, nil
	}
	over := sess.DeletedAt != 0
	if !over {
		over, err = t.expired(sess, m.SentAt)
	}
	if err != nil || !over {
		return sess, err
	}
	n.ChatID = sess.ChatID
	return t.goOn(n, m.SentAt, sess)
}

// goOn returns the dialog in which a chat goes on: its active one, or a new one when
// there is none or that has expired. from, if not zero, is a dialog that is over:
// who follows it is led there.
func (t *tx) goOn(n NewSession, sentAt int64, from Session) (Session, error) {
	active, err := activeSession(t, n.Channel, n.ChatID)
	none := errors.Is(err, ErrNotFound)
	if err != nil && !none {
		return active, err
	}
	fresh := none
	if !none {
		if fresh, err = t.expired(active, sentAt); err != nil {
			return active, err
		}
	}
	sess := active
	if fresh {
		if n.Agent == "" {
			n.Agent = active.Agent
		}
		if n.Agent == "" {
			n.Agent = from.Agent
		}
		if sess, err = t.newDialog(n); err != nil {
			return sess, err
		}
		if !none {
			err = t.succeed(active.ID, sess.ID)
		}
	}
	if err == nil && from.ID != "" && from.ID != active.ID {
		err = t.succeed(from.ID, sess.ID)
	}
	return sess, err
}

// succeed writes down which dialog took another's place, and wakes who follows it.
func (t *tx) succeed(id, successor string) error {
	if _, err := t.exec(`UPDATE sessions SET successor_id = ? WHERE id = ?`, successor, id); err != nil {
		return fmt.Errorf("end dialog %s: %w", id, err)
	}
	t.touch(id)
	return nil
}

// expired reports whether a dialog was silent for too long when a message came that
// was sent at sentAt (ms, 0 = now). One in which nothing was said does not expire, and
// none is silent while a turn of it is to be answered.
func (t *tx) expired(sess Session, sentAt int64) (bool, error) {
	if t.s.expiry <= 0 || sess.MessageCount == 0 {
		return false, nil
	}
	at := t.at
	if sentAt != 0 {
		at = min(at, sentAt)
	}
	if at-sess.LastActiveAt <= t.s.expiry.Milliseconds() {
		return false, nil
	}
	busy, err := unfinished(t, sess.ID)
	return !busy, err
}

// unfinished reports whether a session has a turn that has not ended.
func unfinished(q querier, sessionID string) (bool, error) {
	var busy bool
	err := q.row(`SELECT EXISTS (SELECT 1 FROM turns WHERE session_id = ? AND status IN ('queued', 'running'))`, sessionID).Scan(&busy)
	return busy, err
}

// RetireExpired takes dialogs that have expired out of use, at most max: the next
// message of their chats opens new ones. It returns how many there were.
func (s *Store) RetireExpired(ctx context.Context, max int) (n int64, err error) {
	if s.expiry <= 0 {
		return 0, nil
	}
	err = s.update(ctx, func(t *tx) error {
		rows, err := t.rows(`UPDATE sessions SET active = 0 WHERE id IN (
				SELECT id FROM sessions s WHERE active = 1 AND message_count > 0 AND last_active_at < ?
				AND NOT EXISTS (SELECT 1 FROM turns WHERE session_id = s.id AND status IN ('queued', 'running')) LIMIT ?)
			RETURNING id`, t.at-s.expiry.Milliseconds(), max)
		ids, err := collect(rows, err, scanOne[string])
		n = int64(len(ids))
		return err
	})
	return n, err
}
