package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"picobot/internal/chat"
)

// Writable reports whether a command may change the session it was said in: one of its
// own channel that is not deleted. Whoever looks at another channel's is a guest there.
func (c *CommandTx) Writable() bool {
	return c.Session.Channel == c.m.Channel && c.Session.DeletedAt == 0
}

// chat is the chat whose dialogs the command is about: that of the session it was said
// in, but a guest's own.
func (c *CommandTx) chat() (channel, chatID string) {
	if c.Session.Channel == c.m.Channel {
		return c.Session.Channel, c.Session.ChatID
	}
	return c.m.Channel, c.m.ChatID
}

// List returns the chat's dialogs, the most recently active first, and remembers the
// list: its numbers, from 1 on, are what Find takes until the next one.
func (c *CommandTx) List(max int) ([]Session, error) {
	channel, chatID := c.chat()
	rows, err := c.t.rows(`SELECT `+sessionColumns+` FROM sessions WHERE channel = ? AND chat_id = ? AND deleted_at IS NULL
		ORDER BY last_active_at DESC, id DESC LIMIT ?`, channel, chatID, max)
	list, err := collect(rows, err, scanSession)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(list))
	for i, s := range list {
		ids[i] = s.ID
	}
	b, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	_, err = c.t.exec(`INSERT INTO session_lists (channel, chat_id, session_ids, created_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (channel, chat_id) DO UPDATE SET session_ids = excluded.session_ids, created_at = excluded.created_at`,
		c.m.Channel, c.m.ChatID, string(b), c.t.at)
	return list, err
}

// Find returns the chat's dialog that is meant by a number of the last list, by a
// dialog id or by a session id, or ErrNotFound. Deleted ones are not found.
func (c *CommandTx) Find(name string) (Session, error) {
	channel, chatID := c.chat()
	id, err := c.listed(name)
	if err != nil {
		return Session{}, err
	}
	for _, id := range []string{
		id,
		chat.SessionKey{Channel: channel, ChatID: chatID, DialogID: name}.ID(),
		chat.SessionKey{Channel: channel, ChatID: chatID, DialogID: strings.ToUpper(name)}.ID(), // as ULIDs are written
		name,
	} {
		sess, err := sessionByID(c.t, id)
		if err == nil && (sess.Channel != channel || sess.ChatID != chatID || sess.DeletedAt != 0) {
			err = ErrNotFound
		}
		if !errors.Is(err, ErrNotFound) {
			return sess, err
		}
	}
	return Session{}, ErrNotFound
}

// listed returns the session id of a number in the chat's last list, "" = none.
func (c *CommandTx) listed(number string) (string, error) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return "", nil
	}
	var list string
	err = c.t.row(`SELECT session_ids FROM session_lists WHERE channel = ? AND chat_id = ?`, c.m.Channel, c.m.ChatID).Scan(&list)
	if errors.Is(found(err), ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var ids []string
	if err := json.Unmarshal([]byte(list), &ids); err != nil {
		return "", fmt.Errorf("read the list of dialogs: %w", err)
	}
	if n > len(ids) {
		return "", nil
	}
	return ids[n-1], nil
}

// Open makes a new dialog of the chat and makes it the active one. Without n.Agent it
// keeps the agent of the session the command was said in.
func (c *CommandTx) Open(title string) (Session, error) {
	n := c.m.New
	n.Channel, n.ChatID = c.chat()
	if title != "" {
		n.Title, n.Titled = title, true
	}
	if n.Agent == "" && c.Session.Channel == n.Channel {
		n.Agent = c.Session.Agent
	}
	return c.t.newDialog(n)
}

// Use makes a dialog that Find returned the chat's active one.
func (c *CommandTx) Use(sess Session) (Session, error) { return c.t.activate(sess.ID) }

// Rename gives the session the title that a person chose. Fails with ErrReadOnlySession.
func (c *CommandTx) Rename(title string) error {
	if !c.Writable() {
		return ErrReadOnlySession
	}
	_, err := c.t.exec(`UPDATE sessions SET title = ?, titled = 1 WHERE id = ?`, title, c.Session.ID)
	return err
}

// SetAgent chooses the agent of the session's turns from the next one on. Fails with
// ErrReadOnlySession.
func (c *CommandTx) SetAgent(name string) error {
	if !c.Writable() {
		return ErrReadOnlySession
	}
	_, err := c.t.exec(`UPDATE sessions SET agent = ? WHERE id = ?`, name, c.Session.ID)
	return err
}

// Reset ends what runs and waits in the session, as f says, and begins its active
// segment anew: no model is told what came before. Those that ran must still be told
// that they were stopped. Fails with ErrReadOnlySession.
func (c *CommandTx) Reset(f Finish) (ran []Cancelled, err error) {
	if !c.Writable() {
		return nil, ErrReadOnlySession
	}
	if ran, err = c.t.cancelAll(c.Session.ID, f); err != nil {
		return nil, err
	}
	_, err = c.t.exec(`UPDATE sessions SET reset_cutoff_seq = last_seq WHERE id = ?`, c.Session.ID)
	c.t.touch(c.Session.ID)
	return ran, err
}

// Delete ends what runs and waits in the session, as f says, and takes it out of every
// list; cleanup may erase it later. Next is the dialog the chat goes on in: the active
// one, else the most recent other, else a new one. Fails with ErrReadOnlySession.
func (c *CommandTx) Delete(f Finish) (next Session, ran []Cancelled, err error) {
	if !c.Writable() {
		return next, nil, ErrReadOnlySession
	}
	if ran, err = c.t.cancelAll(c.Session.ID, f); err != nil {
		return next, nil, err
	}
	if _, err := c.t.exec(`UPDATE sessions SET deleted_at = ?, active = 0 WHERE id = ?`, c.t.at, c.Session.ID); err != nil {
		return next, nil, fmt.Errorf("delete session %s: %w", c.Session.ID, err)
	}
	if next, err = c.afterDelete(); err != nil {
		return next, nil, err
	}
	return next, ran, c.t.succeed(c.Session.ID, next.ID)
}

func (c *CommandTx) afterDelete() (Session, error) {
	next, err := activeSession(c.t, c.Session.Channel, c.Session.ChatID)
	if !errors.Is(err, ErrNotFound) {
		return next, err
	}
	// A dialog that a job has made for a run of its own is nobody's to go on in by itself.
	next, err = scanSession(c.t.row(`SELECT `+sessionColumns+` FROM sessions s WHERE channel = ? AND chat_id = ? AND deleted_at IS NULL
		AND NOT EXISTS (SELECT 1 FROM turns JOIN job_runs r ON r.turn_id = turns.id
			WHERE turns.session_id = s.id AND r.job ->> '$.payload.fresh_session')
		ORDER BY last_active_at DESC, id DESC LIMIT 1`, c.Session.Channel, c.Session.ChatID))
	if errors.Is(err, ErrNotFound) {
		return c.Open("")
	}
	if err != nil {
		return next, err
	}
	return c.t.activate(next.ID)
}

// Spent returns the tokens of all turns of the session.
func (c *CommandTx) Spent() (chat.Usage, error) {
	var u chat.Usage
	err := c.t.row(`SELECT coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0), coalesce(sum(cached_tokens), 0), coalesce(sum(reasoning_tokens), 0)
		FROM turns WHERE session_id = ?`, c.Session.ID).Scan(&u.PromptTokens, &u.CompletionTokens, &u.CachedTokens, &u.ReasoningTokens)
	return u, err
}

// LatestRun is the run that had a session's newest turn which any had; zero where
// none has begun.
type LatestRun struct {
	WorkflowID, RunID string
	Over              int64 // when the turn ended (ms), 0 = it has not
}

// LatestRun returns the session's.
func (c *CommandTx) LatestRun() (r LatestRun, err error) {
	err = c.t.row(`SELECT workflow_id, run_id, coalesce(finished_at, 0) FROM turns WHERE session_id = ? AND run_id != '' ORDER BY created_at DESC, id DESC LIMIT 1`,
		c.Session.ID).Scan(&r.WorkflowID, &r.RunID, &r.Over)
	if errors.Is(err, sql.ErrNoRows) {
		return LatestRun{}, nil
	}
	return r, err
}

// cancelAll ends every turn of the session that has not ended. Unlike a /stop, which
// marks a running turn for whoever runs it, this leaves nothing that could still add
// rows: the fence discards what its work brings. It returns those that ran.
func (t *tx) cancelAll(sessionID string, f Finish) ([]Cancelled, error) {
	rows, err := t.rows(`SELECT `+turnColumns+` FROM turns WHERE session_id = ? AND status IN ('queued', 'running')
		ORDER BY status = 'running' DESC, queued_at, rowid`, sessionID)
	open, err := collect(rows, err, scanTurn)
	if err != nil {
		return nil, err
	}
	var ran []Cancelled
	f.Status, f.Code, f.Text, f.Deliver = chat.TurnCancelled, "", "", false
	for _, turn := range open {
		if err := t.finish(turn, f); err != nil {
			return nil, err
		}
		if turn.Status != chat.TurnRunning {
			continue
		}
		ended, err := turnByID(t, turn.ID)
		if err != nil {
			return nil, err
		}
		ran = append(ran, Cancelled{Turn: ended, Running: true})
	}
	return ran, nil
}
