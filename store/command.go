package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// Command is a slash command that was run, with its answer.
type Command struct {
	ID        string
	InboundID string
	Name      string // without the slash
	OK        bool
	Text      string
	Data      json.RawMessage // for programs; nil = none
	SessionID string          // where the chat is after the command
	CreatedAt int64
}

// CommandAnswer is what a command has to say.
type CommandAnswer struct {
	Failed bool
	Text   string
	Data   json.RawMessage
	// SessionID is where the chat is after the command; "" = where it was said.
	SessionID string
	// Deliver: the text must be sent to the chat (an outbox row is written with it).
	Deliver bool
}

// CommandTx is what a command may do: all of it happens with its answer or not at all.
type CommandTx struct {
	Session Session // where the command was said; it may be deleted or of another channel
	m       Inbound
	t       *tx
}

// Cancel is Store.Cancel in the session the command was said in.
func (c *CommandTx) Cancel(turnID string) (Cancelled, error) {
	return c.t.cancel(c.Session.ID, turnID)
}

// RunCommand runs a command and writes down its effect and its answer in one
// transaction, once: an external id that was there before, of a command or of a
// message, comes back as a duplicate and nothing is run.
//
// run says what the command does and answers. It may run several times (each time
// as if for the first), so it must keep nothing of an earlier time and act on
// nothing but the record: what else is to happen happens after RunCommand returned.
// An error of run undoes everything, and the command may come again.
func (s *Store) RunCommand(ctx context.Context, m Inbound, name string, run func(*CommandTx) (CommandAnswer, error)) (Accepted, error) {
	var out Accepted
	err := s.update(ctx, func(t *tx) (err error) {
		var known bool
		if out, known, err = accepted(t, m); err != nil || known {
			return err
		}
		out, err = t.runCommand(m, name, run)
		return err
	})
	return out, err
}

func (t *tx) runCommand(m Inbound, name string, run func(*CommandTx) (CommandAnswer, error)) (Accepted, error) {
	sess, err := t.saidIn(m)
	if err != nil {
		return Accepted{}, err
	}
	a, err := run(&CommandTx{Session: sess, m: m, t: t})
	if err != nil {
		return Accepted{}, err
	}
	c := Command{ID: t.s.ids.New(), InboundID: t.s.ids.New(), Name: name, OK: !a.Failed, Text: a.Text, Data: a.Data, SessionID: a.SessionID, CreatedAt: t.at}
	if c.SessionID == "" {
		c.SessionID = sess.ID
	}
	if _, err := t.exec(`INSERT INTO inbound_messages (id, channel, chat_id, external_id, session_id, sender_id, content, status, received_at, finished_at, metadata)
		VALUES (?, ?, ?, ?, ?, ?, ?, 'done', ?, ?, ?)`,
		c.InboundID, m.Channel, m.ChatID, m.ExternalID, sess.ID, m.SenderID, m.Content, t.at, t.at, nullJSON(m.Metadata)); err != nil {
		return Accepted{}, fmt.Errorf("record command: %w", err)
	}
	if _, err := t.exec(`INSERT INTO commands (id, inbound_id, name, ok, text, data, session_id, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		c.ID, c.InboundID, c.Name, c.OK, c.Text, nullJSON(c.Data), c.SessionID, c.CreatedAt); err != nil {
		return Accepted{}, fmt.Errorf("record command: %w", err)
	}
	if a.Deliver {
		if _, err := t.enqueue(Outbound{Channel: m.Channel, ChatID: m.ChatID, SessionID: sess.ID, Origin: c.ID, Content: c.Text}); err != nil {
			return Accepted{}, err
		}
	}
	return Accepted{InboundID: c.InboundID, SessionID: sess.ID, Command: &c}, nil
}

// saidIn finds the session a command was said in. Unlike a message, which adds to a
// session, a command may be said in any that is there: what it may do is its own rule.
func (t *tx) saidIn(m Inbound) (Session, error) {
	if m.SessionID != "" {
		return sessionByID(t, m.SessionID)
	}
	n := m.New
	n.Channel, n.ChatID = m.Channel, m.ChatID
	sess, _, err := t.openChat(n)
	return sess, err
}

func commandOf(q querier, inboundID string) (*Command, error) {
	c := &Command{}
	var data sql.NullString
	err := q.row(`SELECT id, inbound_id, name, ok, text, data, session_id, created_at FROM commands WHERE inbound_id = ?`, inboundID).
		Scan(&c.ID, &c.InboundID, &c.Name, &c.OK, &c.Text, &data, &c.SessionID, &c.CreatedAt)
	if data.Valid {
		c.Data = json.RawMessage(data.String)
	}
	return c, found(err)
}
