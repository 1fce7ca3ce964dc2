package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"picobot/internal/chat"
)

// Session is one dialog of one chat.
type Session struct {
	ID                string
	Channel           string
	ChatID            string
	DialogID          string
	Title             string
	Agent             string
	CreatedAt         int64
	LastActiveAt      int64
	MessageCount      int64
	TotalMessageCount int64
	RoutingInfo       json.RawMessage
	ResetCutoffSeq    int64
	DeletedAt         int64 // 0 = not deleted
	LastSeq           int64
	Active            bool
	Titled            bool   // a person chose the title
	Successor         string // the dialog that took its place when it had expired or was deleted, "" = none
	TitleSource       string // who wrote the title, unless it was a person
	TitleTries        int    // how often a model was asked for one in vain
	Compacting        Compacting
}

const sessionColumns = `id, channel, chat_id, dialog_id, title, agent, created_at, last_active_at,
	message_count, total_message_count, coalesce(routing_info, ''), reset_cutoff_seq, coalesce(deleted_at, 0), last_seq, active,
	titled, coalesce(successor_id, ''),
	title_source, title_tries, compaction, iif(compaction_base = reset_cutoff_seq, compaction_strikes, 0), compaction_size, request_estimate, request_tokens`

func scanSession(r scanner) (Session, error) {
	var s Session
	var routing string
	c := &s.Compacting
	err := r.Scan(&s.ID, &s.Channel, &s.ChatID, &s.DialogID, &s.Title, &s.Agent, &s.CreatedAt, &s.LastActiveAt,
		&s.MessageCount, &s.TotalMessageCount, &routing, &s.ResetCutoffSeq, &s.DeletedAt, &s.LastSeq, &s.Active,
		&s.Titled, &s.Successor,
		&s.TitleSource, &s.TitleTries, &c.Due, &c.Strikes, &c.Size, &c.Estimate, &c.Reported)
	if routing != "" {
		s.RoutingInfo = json.RawMessage(routing)
	}
	return s, found(err)
}

func sessionByID(q querier, id string) (Session, error) {
	return scanSession(q.row(`SELECT `+sessionColumns+` FROM sessions WHERE id = ?`, id))
}

func activeSession(q querier, channel, chatID string) (Session, error) {
	return scanSession(q.row(`SELECT `+sessionColumns+` FROM sessions
		WHERE channel = ? AND chat_id = ? AND active = 1 AND deleted_at IS NULL`, channel, chatID))
}

// Session returns the session with this id, deleted ones included, or ErrNotFound.
func (s *Store) Session(ctx context.Context, id string) (Session, error) {
	var out Session
	err := s.view(ctx, func(q querier) (err error) {
		out, err = sessionByID(q, id)
		return err
	})
	return out, err
}

// NewSession is what a chat's new dialog is made from.
type NewSession struct {
	Channel     string
	ChatID      string
	Title       string
	Titled      bool            // a person chose the title
	Agent       string          // "" = that of the dialog it takes over from, else "default"
	Welcome     string          // the row it begins with, which no model is told; "" = none
	RoutingInfo json.RawMessage // how to reach the chat, in its channel's own form
}

// OpenChat returns the chat's active session, making one when there is none.
func (s *Store) OpenChat(ctx context.Context, n NewSession) (sess Session, created bool, err error) {
	err = s.view(ctx, func(q querier) (err error) {
		sess, err = activeSession(q, n.Channel, n.ChatID)
		return err
	})
	if !errors.Is(err, ErrNotFound) {
		return sess, false, err
	}
	err = s.update(ctx, func(t *tx) (err error) {
		sess, created, err = t.openChat(n)
		return err
	})
	return sess, created, err
}

func (t *tx) openChat(n NewSession) (Session, bool, error) {
	sess, err := activeSession(t, n.Channel, n.ChatID)
	if !errors.Is(err, ErrNotFound) {
		return sess, false, err
	}
	sess, err = t.newDialog(n)
	return sess, true, err
}

// newDialog makes a dialog and makes it its chat's active one.
func (t *tx) newDialog(n NewSession) (Session, error) {
	id, err := t.insertSession(n)
	if err != nil {
		return Session{}, err
	}
	if n.Welcome != "" {
		if _, err := t.append(Row{SessionID: id, Message: chat.Message{Role: chat.RoleSystem, Content: n.Welcome, Marker: chat.MarkerWelcome}}); err != nil {
			return Session{}, err
		}
	}
	return t.activate(id)
}

// insertSession writes a dialog without rows, which is not its chat's active one.
func (t *tx) insertSession(n NewSession) (id string, err error) {
	key := chat.SessionKey{Channel: n.Channel, ChatID: n.ChatID, DialogID: t.s.ids.New()}
	_, err = t.exec(`INSERT INTO sessions (id, channel, chat_id, dialog_id, title, titled, agent, created_at, last_active_at, routing_info)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		key.ID(), key.Channel, key.ChatID, key.DialogID, n.Title, n.Titled, cmp.Or(n.Agent, "default"), t.at, t.at, nullJSON(n.RoutingInfo))
	if err != nil {
		return "", fmt.Errorf("make session: %w", err)
	}
	return key.ID(), nil
}

// activate makes a dialog the one that its chat goes on in.
func (t *tx) activate(id string) (Session, error) {
	if _, err := t.exec(`UPDATE sessions SET active = 0 WHERE active = 1 AND id <> ?1
		AND (channel, chat_id) = (SELECT channel, chat_id FROM sessions WHERE id = ?1)`, id); err != nil {
		return Session{}, fmt.Errorf("activate session %s: %w", id, err)
	}
	// Being chosen is activity: a dialog that somebody has just turned to has not expired.
	if _, err := t.exec(`UPDATE sessions SET active = 1, successor_id = NULL, last_active_at = max(last_active_at, ?) WHERE id = ?`, t.at, id); err != nil {
		return Session{}, fmt.Errorf("activate session %s: %w", id, err)
	}
	return sessionByID(t, id)
}

// SessionFilter selects sessions for a list; zero fields select everything.
type SessionFilter struct {
	Channel string
	ChatID  string
	After   After // by last_active_at
	Limit   int   // 0 = 100
}

// Sessions lists sessions that are not deleted, the most recently active first.
func (s *Store) Sessions(ctx context.Context, f SessionFilter) ([]Session, error) {
	var out []Session
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT `+sessionColumns+` FROM sessions
			WHERE deleted_at IS NULL AND (?1 = '' OR channel = ?1) AND (?2 = '' OR chat_id = ?2)
			AND (?4 = '' OR (last_active_at, id) < (?3, ?4))
			ORDER BY last_active_at DESC, id DESC LIMIT ?5`, f.Channel, f.ChatID, f.After.At, f.After.ID, limit(f.Limit))
		out, err = collect(rows, err, scanSession)
		return err
	})
	return out, err
}

// Counts are the figures /health reports.
type Counts struct {
	ActiveSessions int64 // sessions with activity since the given moment
	PendingInbound int64 // accepted messages whose turn has not ended
}

// Counts counts sessions active since the given moment and messages waiting for an answer.
func (s *Store) Counts(ctx context.Context, since time.Time) (Counts, error) {
	var c Counts
	err := s.view(ctx, func(q querier) error {
		return q.row(`SELECT
			(SELECT count(*) FROM sessions WHERE last_active_at >= ? AND deleted_at IS NULL),
			(SELECT count(*) FROM inbound_messages WHERE status IN ('received', 'dispatched'))`,
			since.UnixMilli()).Scan(&c.ActiveSessions, &c.PendingInbound)
	})
	return c, err
}

func limit(n int) int {
	if n <= 0 {
		return 100
	}
	return n
}

func nullJSON(m json.RawMessage) sql.NullString {
	return sql.NullString{String: string(m), Valid: len(m) > 0}
}

func nullString(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

func nullInt(n int64) sql.NullInt64 { return sql.NullInt64{Int64: n, Valid: n != 0} }

// FindSession returns the session with this id, or the one whose dialog id it is.
// Fails with ErrNotFound when there is none.
func (s *Store) FindSession(ctx context.Context, idOrDialog string) (Session, error) {
	var out Session
	err := s.view(ctx, func(q querier) (err error) {
		out, err = scanSession(q.row(`SELECT `+sessionColumns+` FROM sessions WHERE id = ?1 OR dialog_id = ?1 ORDER BY id = ?1 DESC LIMIT 1`, idOrDialog))
		return err
	})
	return out, err
}
