package store

import (
	"errors"
	"fmt"
)

// Telling says what whoever asked for a compaction is told of its end; "" = nothing.
// nil tells nobody anything.
type Telling func(Session, Compaction) string

// tellAsked writes the outbox row that tells how a compaction ended, where a person had
// asked for it: once for each time somebody asks, in the chat that it was asked in. It
// returns the ids of what is to be delivered.
func (t *tx) tellAsked(sess Session, c Compaction, say Telling) ([]string, error) {
	if sess.Compacting.Due != DueAsked || sess.DeletedAt != 0 || say == nil {
		return nil, nil
	}
	text := say(sess, c)
	if text == "" {
		return nil, nil
	}
	o := Outbound{SessionID: sess.ID, Part: 1, Content: text} // part 0 is the command's answer
	err := found(t.row(`SELECT c.id, i.channel, i.chat_id FROM commands c JOIN inbound_messages i ON i.id = c.inbound_id
		WHERE c.session_id = ? AND c.name = 'compact' AND c.ok = 1 ORDER BY c.rowid DESC LIMIT 1`, sess.ID).Scan(&o.Origin, &o.Channel, &o.ChatID))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find who asked for a compaction: %w", err)
	}
	id, err := t.enqueue(o)
	if err != nil {
		return nil, err
	}
	t.touch(sess.ID)
	return []string{id}, nil
}
