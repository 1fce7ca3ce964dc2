package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/store"
)

func seq(n int64) *int64 { return &n }

func turnIDs(turns []store.Turn) (out []string) {
	for _, t := range turns {
		out = append(out, t.ID)
	}
	return out
}

func TestAttach_WithoutReplay_StartsBehindTheNewestRowWithWhatIsOpen(t *testing.T) {
	s := open(t)
	ended := running(t, s)
	answer(t, s, ended.ID, 1, say("hi"))
	runs := accept(t, s, message("m2", "and now"))
	waits := accept(t, s, message("m3", "and then"))
	begin(t, s, runs.SessionID)
	answer(t, s, runs.ID, 1, call("a", "b"))

	a, err := s.Attach(t.Context(), runs.SessionID, nil)
	require.NoError(t, err)
	require.Equal(t, a.Session.LastSeq, a.Cursor.Seq)
	require.Equal(t, []string{waits.ID, runs.ID}, turnIDs(a.Turns))
	require.Equal(t, 1, a.Answered)
	require.Equal(t, 0, a.Closed)
	require.Len(t, a.Calls, 2)
	require.Equal(t, runs.ID, a.LastTurn)

	none, err := s.Changes(t.Context(), runs.SessionID, a.Cursor)
	require.NoError(t, err)
	require.Empty(t, none.Rows)
	require.Empty(t, none.Turns)
}

func TestAttach_WithReplay_TellsOfTurnsThatEndedSinceTheRow(t *testing.T) {
	s := open(t)
	first := running(t, s) // rows: 1 prompt, 2 user
	answer(t, s, first.ID, 1, say("one"))
	second := accept(t, s, message("m2", "two"))
	begin(t, s, second.SessionID) // row 4
	answer(t, s, second.ID, 1, say("two"))
	taken := accept(t, s, message("m3", "three"))
	_, err := s.Cancel(t.Context(), taken.SessionID, taken.ID)
	require.NoError(t, err)

	for from, want := range map[int64][]string{
		0:   {first.ID, second.ID, taken.ID},
		2:   {first.ID, second.ID, taken.ID},
		3:   {first.ID, second.ID, taken.ID}, // its last row is not the news of its end
		4:   {second.ID, taken.ID},
		5:   {second.ID, taken.ID},
		100: {second.ID, taken.ID},
	} {
		a, err := s.Attach(t.Context(), first.SessionID, seq(from))
		require.NoError(t, err)
		require.Equal(t, want, turnIDs(a.Turns), "from %d", from)
		require.Equal(t, min(from, 5), a.Cursor.Seq)
	}
}

func TestAttach_MidTurn_SaysWhereTheReaderStands(t *testing.T) {
	s := open(t)
	turn := running(t, s)               // rows: 1 prompt, 2 user
	answer(t, s, turn.ID, 1, call("a")) // 3
	r := toolRun(turn.ID, 1, 0, "a")    // 4
	r.Status, r.Result = chat.ToolCompleted, "ok"
	_, err := s.CommitTool(t.Context(), r)
	require.NoError(t, err)
	answer(t, s, turn.ID, 2, call("b")) // 5
	for from, want := range map[int64]struct {
		answered, closed int
		call             string
	}{2: {0, 0, ""}, 3: {1, 0, "a"}, 4: {1, 1, "a"}, 5: {2, 1, "b"}} {
		a, err := s.Attach(t.Context(), turn.SessionID, seq(from))
		require.NoError(t, err)
		require.Equal(t, want.answered, a.Answered, "from %d", from)
		require.Equal(t, want.closed, a.Closed, "from %d", from)
		if want.call != "" {
			require.Equal(t, want.call, a.Calls[0].ID, "from %d", from)
		}
		require.Equal(t, turn.ID, a.Cursor.Turn)
		require.Equal(t, want.closed, a.Cursor.Step)
	}
}

func TestAttach_UnknownSession_IsNotFound(t *testing.T) {
	_, err := open(t).Attach(t.Context(), "cli:x:y", nil)
	require.ErrorIs(t, err, store.ErrNotFound)
}
