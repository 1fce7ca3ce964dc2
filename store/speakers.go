package store

import (
	"fmt"

	"picobot/internal/chat"
	"picobot/internal/memory"
)

// personal is the agent's prompt as this turn's chat is given it: with what is
// remembered of the people who speak in it, and of nobody else.
func (t *tx) personal(b Begin, m InboundMessage) (string, error) {
	if b.Personal == nil {
		return b.AgentPrompt, nil
	}
	scopes, err := speakers(t, b.SessionID)
	if err != nil {
		return "", fmt.Errorf("who speaks in %s: %w", b.SessionID, err)
	}
	return b.Personal(b.AgentPrompt, append(scopes, memory.Scope(m.Channel, m.SenderID))), nil
}

// speakers lists the scopes of those who have said something in the active segment.
func speakers(q querier, sessionID string) ([]string, error) {
	rows, err := q.rows(`SELECT DISTINCT i.channel, i.sender_id FROM messages m
		JOIN turns t ON t.id = m.turn_id JOIN inbound_messages i ON i.id = t.inbound_id
		WHERE m.session_id = ?1 AND m.role = ?2 AND m.seq > (SELECT reset_cutoff_seq FROM sessions WHERE id = ?1)`, sessionID, chat.RoleUser)
	return collect(rows, err, func(r scanner) (string, error) {
		var channel, sender string
		err := r.Scan(&channel, &sender)
		return memory.Scope(channel, sender), err
	})
}
