package store

import (
	"cmp"
	"errors"
	"fmt"

	"picobot/internal/chat"
	"picobot/internal/schedule"
)

// ErrNotTheirChat says that neither this person nor this session has been in the chat.
var ErrNotTheirChat = errors.New("this person has not been in that chat")

// Send writes an outbox row to a chat, "" = the one the turn is in, in a job's run that
// of the job's target, and returns where it goes. Fails with ErrNotTheirChat for chats that the turn's sender has not
// written in: a model must not be talked into writing to anybody.
func (t *ToolTx) Send(channel, chatID, content string) (toChannel, toChat string, err error) {
	home := schedule.Target{Channel: t.Session.Channel, ChatID: t.Session.ChatID}
	here := home
	if t.Job != nil { // a job speaks to its target, wherever it works
		home = t.Job.Job.Target
	}
	toChannel, toChat = cmp.Or(channel, home.Channel), chatID
	if toChat == "" {
		if toChannel != home.Channel {
			return "", "", fmt.Errorf("%w: a channel was named and no chat", ErrNotTheirChat)
		}
		toChat = home.ChatID
	}
	is := func(c schedule.Target) bool { return toChannel == c.Channel && toChat == c.ChatID }
	if !is(home) && !is(here) {
		if err := t.mayWriteTo(toChannel, toChat); err != nil {
			return "", "", err
		}
	}
	// The turn's own dialog has the call among its rows.
	noted := is(here) && (t.Job == nil || t.Session.Active)
	_, err = t.t.enqueue(Outbound{
		Channel: toChannel, ChatID: toChat, SessionID: t.Session.ID, Origin: t.Run.ID, TurnID: t.Run.TurnID,
		Part: t.sent, Content: content, Unnoted: !noted,
	})
	t.sent++
	t.t.touch(t.Session.ID)
	return toChannel, toChat, err
}

// mayWriteTo checks that the turn's sender has written in the chat. Ids of people
// mean something in their channel only.
func (t *ToolTx) mayWriteTo(channel, chatID string) error {
	var been bool
	if err := t.t.row(`SELECT EXISTS (SELECT 1 FROM inbound_messages WHERE channel = ?1 AND sender_id = ?2 AND chat_id = ?3 AND ?1 = ?4)
		OR EXISTS (SELECT 1 FROM inbound_messages WHERE session_id = ?5 AND channel = ?1 AND chat_id = ?3)`,
		channel, t.Inbound.SenderID, chatID, t.Session.Channel, t.Session.ID).Scan(&been); err != nil {
		return err
	}
	if !been {
		return ErrNotTheirChat
	}
	return nil
}

// maxNoted bounds how many rows a turn begins with: of what a chat was sent while
// nobody wrote there for weeks, the newest are what matters.
const maxNoted = 100

// noteOutbound writes what the chat was sent outside its turns as rows of the
// session, so that the model knows what the person has read.
func (t *tx) noteOutbound(sess Session) error {
	var news bool
	if err := t.row(`SELECT EXISTS (SELECT 1 FROM outbound_messages WHERE unnoted = 1 AND channel = ? AND chat_id = ?)`, sess.Channel, sess.ChatID).Scan(&news); err != nil || !news {
		return err
	}
	rows, err := t.rows(`SELECT content FROM (
			SELECT content, created_at, id FROM outbound_messages WHERE unnoted = 1 AND channel = ? AND chat_id = ? AND status <> 'failed'
			ORDER BY created_at DESC, id DESC LIMIT ?)
		ORDER BY created_at, id`, sess.Channel, sess.ChatID, maxNoted)
	sent, err := collect(rows, err, scanOne[string])
	if err != nil {
		return fmt.Errorf("note what was sent: %w", err)
	}
	for _, content := range sent {
		if _, err := t.append(Row{SessionID: sess.ID, Message: chat.Message{Role: chat.RoleAssistant, Content: content, Marker: chat.MarkerOutbound}}); err != nil {
			return err
		}
	}
	_, err = t.exec(`UPDATE outbound_messages SET unnoted = 0 WHERE unnoted = 1 AND channel = ? AND chat_id = ?`, sess.Channel, sess.ChatID)
	return err
}
