package store_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/store"
)

// asking returns a running turn whose first step asks for the given calls.
func asking(t *testing.T, s *store.Store, ids ...string) store.Turn {
	t.Helper()
	turn := running(t, s)
	answer(t, s, turn.ID, 1, call(ids...))
	return turn
}

// sends is a tool that sends content, and says it has.
func sends(channel, chatID, content string) func(*store.ToolTx) (chat.ToolStatus, string, error) {
	return func(tx *store.ToolTx) (chat.ToolStatus, string, error) {
		if _, _, err := tx.Send(channel, chatID, content); err != nil {
			return chat.ToolFailed, "Error: " + err.Error(), err
		}
		return chat.ToolCompleted, "sent", nil
	}
}

func TestRecordTool_EffectAndResultAreOneTransaction_AndHappenOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	turn := asking(t, s, "a")
	var first store.ToolRun
	for range 3 {
		run, err := s.RunRecordTool(t.Context(), toolRun(turn.ID, 1, 0, "a"), sends("", "", "hello"))
		require.NoError(t, err)
		require.Equal(t, chat.ToolCompleted, run.Status)
		if first.ID == "" {
			first = run
		}
		require.Equal(t, first, run, "a second attempt finds the first one's row")
	}
	ids, err := s.OutboundOf(t.Context(), first.ID)
	require.NoError(t, err)
	require.Len(t, ids, 1)
	o, err := s.Outbound(t.Context(), ids[0])
	require.NoError(t, err)
	require.Equal(t, "hello", o.Content)
	require.Equal(t, turn.SessionID, o.SessionID)
	require.Equal(t, 1, query[int](t, path, `SELECT count(*) FROM messages WHERE role = 'tool'`), "the step is complete, its row is there")
}

func TestRecordTool_Fails_ItsEffectIsUndoneAndItsResultKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	turn := asking(t, s, "a")
	run, err := s.RunRecordTool(t.Context(), toolRun(turn.ID, 1, 0, "a"), func(tx *store.ToolTx) (chat.ToolStatus, string, error) {
		_, _, err := tx.Send("", "", "half done")
		require.NoError(t, err)
		why := errors.New("the second half cannot be done")
		return chat.ToolFailed, "Error: " + why.Error(), why
	})
	require.NoError(t, err)
	require.Equal(t, chat.ToolFailed, run.Status)
	require.Equal(t, 0, query[int](t, path, `SELECT count(*) FROM outbound_messages`))
	require.Equal(t, "Error: the second half cannot be done", query[string](t, path, `SELECT content FROM messages WHERE role = 'tool'`))
}

func TestRecordTool_TurnEndedOrToBeCancelled_IsNotRun(t *testing.T) {
	for name, end := range map[string]func(s *store.Store, turn store.Turn) error{
		"cancel": func(s *store.Store, turn store.Turn) error {
			_, err := s.Cancel(t.Context(), turn.SessionID, turn.ID)
			return err
		},
		"ended": func(s *store.Store, turn store.Turn) error {
			_, err := s.FinishTurn(t.Context(), store.Finish{TurnID: turn.ID, Status: chat.TurnFailed, Text: "no"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sessions.db")
			s, _ := openAt(t, path)
			turn := asking(t, s, "a")
			require.NoError(t, end(s, turn))
			_, err := s.RunRecordTool(t.Context(), toolRun(turn.ID, 1, 0, "a"), func(*store.ToolTx) (chat.ToolStatus, string, error) {
				t.Error("it was run")
				return chat.ToolCompleted, "x", nil
			})
			require.ErrorIs(t, err, store.ErrTurnEnded)
		})
	}
}

func TestSend_OnlyToChatsThatTheSenderHasWrittenIn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	in := func(id, channel, chatID, sender string) {
		m := message(id, "hi")
		m.Channel, m.ChatID, m.SenderID = channel, chatID, sender
		accept(t, s, m)
	}
	turn := asking(t, s, "a", "b", "c", "d", "e", "f")
	me, here := query[string](t, path, `SELECT sender_id FROM inbound_messages`), query[string](t, path, `SELECT chat_id FROM inbound_messages`)
	in("1", "cli", "mine too", me)
	in("2", "cli", "theirs", "somebody else")
	in("3", "feishu", "other channel", me)
	for i, c := range []struct {
		channel, chat string
		allowed       bool
	}{
		{"", "", true},
		{"cli", here, true},
		{"", "mine too", true},
		{"", "theirs", false},
		{"feishu", "other channel", false}, // the same id is another person there
		{"", "nobody's", false},
	} {
		run, err := s.RunRecordTool(t.Context(), toolRun(turn.ID, 1, i, string(rune('a'+i))), sends(c.channel, c.chat, "hello"))
		require.NoError(t, err)
		require.Equal(t, c.allowed, run.Status == chat.ToolCompleted, "%v: %s", c, run.Result)
	}
	require.Equal(t, 3, query[int](t, path, `SELECT count(*) FROM outbound_messages`))
}

func TestSend_ToAnotherChat_IsARowOfItsNextTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	turn := asking(t, s, "a", "b", "c")
	me := query[string](t, path, `SELECT sender_id FROM inbound_messages`)
	elsewhere := message("1", "hi")
	elsewhere.ChatID, elsewhere.SenderID = "elsewhere", me
	other := accept(t, s, elsewhere)
	begin(t, s, other.SessionID)
	answer(t, s, other.ID, 1, say("hello"))

	for i, text := range []string{"first news", "second news"} {
		_, err := s.RunRecordTool(t.Context(), toolRun(turn.ID, 1, i, string(rune('a'+i))), sends("", "elsewhere", text))
		require.NoError(t, err)
	}
	_, err := s.RunRecordTool(t.Context(), toolRun(turn.ID, 1, 2, "c"), sends("", "", "said here"))
	require.NoError(t, err)

	for _, id := range []string{"2", "3"} {
		elsewhere.ExternalID = id
		next := accept(t, s, elsewhere)
		begin(t, s, next.SessionID)
		answer(t, s, next.ID, 1, say("hello again"))
	}
	var got []string
	for _, r := range rows(t, s, other.SessionID) {
		if r.Role != chat.RoleSystem {
			got = append(got, string(r.Role)+" "+string(r.Marker)+" "+r.Content)
		}
	}
	require.Equal(t, []string{"user  hi", "assistant  hello", "assistant outbound first news", "assistant outbound second news",
		"user  hi", "assistant  hello again", "user  hi", "assistant  hello again"}, got)
	for _, r := range rows(t, s, turn.SessionID) {
		require.NotEqual(t, chat.MarkerOutbound, r.Marker, "the turn that sent it has the call")
	}
}
