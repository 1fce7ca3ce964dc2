package store_test

import (
	"errors"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/testkit/record"
	"picobot/store"
)

func TestAccept_SameExternalID_IsOneTurn(t *testing.T) {
	s := open(t)
	turn := accept(t, s, message("m1", "hello"))
	again, err := s.Accept(t.Context(), message("m1", "hello"))
	require.NoError(t, err)
	require.True(t, again.Duplicate)
	require.Equal(t, turn.ID, again.Turn.ID)
}

func TestAccept_SameExternalIDAtOnce_IsOneTurn(t *testing.T) {
	s := open(t)
	ids := make([]string, 10)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			a, err := s.Accept(t.Context(), message("m1", "hello"))
			if err == nil {
				ids[i] = a.Turn.ID
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		require.NotEmpty(t, id)
		require.Equal(t, ids[0], id)
	}
}

func TestAccept_SessionOfAnotherChannel_IsReadOnly(t *testing.T) {
	s := open(t)
	m := message("m1", "hi")
	m.Channel = "feishu"
	other := accept(t, s, m)
	m2 := message("m2", "hi")
	m2.SessionID = other.SessionID
	_, err := s.Accept(t.Context(), m2)
	require.ErrorIs(t, err, store.ErrReadOnlySession)
	m2.SessionID = "cli:c1:nope"
	_, err = s.Accept(t.Context(), m2)
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestBegin_TakesWaitingTurnsByTheChannelsTime(t *testing.T) {
	s := open(t)
	late, early := message("m1", "late"), message("m2", "early")
	late.SentAt, early.SentAt = 2000, 1000
	accept(t, s, late)
	first := accept(t, s, early)
	p := begin(t, s, first.SessionID)
	require.Equal(t, first.ID, p.Turn.ID)
	require.Equal(t, 1, p.Step)
	require.Equal(t, []string{"system", "user"}, roles(rows(t, s, first.SessionID)))
}

func TestBegin_NothingWaits_ReturnsNil(t *testing.T) {
	s := open(t)
	turn := running(t, s)
	answer(t, s, turn.ID, 1, say("hi"))
	require.Nil(t, begin(t, s, turn.SessionID))
}

func TestBegin_Again_ReturnsTheSameTurnAndCountsTheClaim(t *testing.T) {
	s := open(t)
	turn := running(t, s)
	require.Equal(t, 1, turn.Claims)
	for n := 2; n <= 6; n++ {
		p := begin(t, s, turn.SessionID)
		require.Equal(t, turn.ID, p.Turn.ID)
		require.Equal(t, n, p.Turn.Claims)
	}
	require.Equal(t, []string{"system", "user"}, roles(rows(t, s, turn.SessionID)), "claims must not repeat rows")
	answer(t, s, turn.ID, 1, call("a"))
	require.Equal(t, 1, begin(t, s, turn.SessionID).Turn.Claims, "progress starts the count anew")
}

func TestBegin_MidStep_ListsOpenCallsOnly(t *testing.T) {
	s := open(t)
	turn := running(t, s)
	answer(t, s, turn.ID, 1, call("a", "b", "c"))
	r := toolRun(turn.ID, 1, 1, "b")
	r.Status, r.Result = chat.ToolCompleted, "B"
	_, err := s.CommitTool(t.Context(), r)
	require.NoError(t, err)
	_, fresh, err := s.ClaimTool(t.Context(), toolRun(turn.ID, 1, 2, "c"))
	require.NoError(t, err)
	require.True(t, fresh)

	p := begin(t, s, turn.SessionID)
	require.Equal(t, 1, p.Step)
	require.Len(t, p.Open, 2)
	require.Equal(t, []int{0, 2}, []int{p.Open[0].Position, p.Open[1].Position})
}

func TestPrompt_IsWrittenOnceAndAgainOnlyWhenChangedAndDue(t *testing.T) {
	s := open(t)
	say1 := func(i int, prompt string) string {
		turn := accept(t, s, message(strconv.Itoa(i), "hello"))
		_, err := s.BeginTurn(t.Context(), store.Begin{SessionID: turn.SessionID, AgentPrompt: prompt, ReinjectEvery: 2})
		require.NoError(t, err)
		answer(t, s, turn.ID, 1, say("hi"))
		return turn.SessionID
	}
	var session string
	for i, prompt := range []string{"one", "one", "one", "two", "two"} {
		session = say1(i, prompt)
	}
	var prompts []string
	for _, r := range rows(t, s, session) {
		if r.Marker == chat.MarkerAgentPrompt {
			prompts = append(prompts, r.Content)
		}
	}
	require.Equal(t, []string{"one", "two"}, prompts)
}

func TestAnswer_WithoutCalls_EndsTurnAndInboundInOneTransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	turn := running(t, s)
	a := say("hi")
	a.Deliver = true
	c := answer(t, s, turn.ID, 1, a)
	require.Equal(t, chat.TurnCompleted, c.Turn.Status)
	require.Equal(t, 1, c.Turn.Steps)
	require.Equal(t, chat.Usage{PromptTokens: 3, CompletionTokens: 2}, c.Turn.Usage)
	require.Len(t, c.Outbound, 1)
	require.Equal(t, "done", query[string](t, path, `SELECT status FROM inbound_messages`))
	require.Equal(t, "hi", query[string](t, path, `SELECT content FROM outbound_messages WHERE status = 'pending'`))
	require.Equal(t, int64(1), query[int64](t, path, `SELECT message_count FROM sessions`))
	require.Equal(t, int64(3), query[int64](t, path, `SELECT total_message_count FROM sessions`))
}

func TestAnswer_Twice_KeepsTheFirst(t *testing.T) {
	s := open(t)
	turn := running(t, s)
	answer(t, s, turn.ID, 1, call("a"))
	c := answer(t, s, turn.ID, 1, call("other"))
	require.True(t, c.Existing)
	require.Equal(t, "a", c.Answer.ToolCalls[0].ID)
	require.Equal(t, 1, c.Turn.Steps)
	done, err := s.AnsweredStep(t.Context(), turn.ID, 1)
	require.NoError(t, err)
	require.Equal(t, c.Answer.ID, done.Answer.ID)
}

func TestFence_NothingIsAddedToAnEndedTurn(t *testing.T) {
	s := open(t)
	turn := running(t, s)
	answer(t, s, turn.ID, 1, call("a"))
	_, err := s.FinishTurn(t.Context(), store.Finish{TurnID: turn.ID, Status: chat.TurnFailed, Code: "x", Text: "broken", NotRun: "Error: not run"})
	require.NoError(t, err)
	before := len(rows(t, s, turn.SessionID))

	_, err = s.CommitAnswer(t.Context(), turn.ID, 2, say("late"))
	require.ErrorIs(t, err, store.ErrTurnEnded)
	_, _, err = s.ClaimTool(t.Context(), toolRun(turn.ID, 1, 0, "a"))
	require.ErrorIs(t, err, store.ErrTurnEnded)
	r := toolRun(turn.ID, 1, 0, "a")
	r.Status, r.Result = chat.ToolCompleted, "late"
	_, err = s.CommitTool(t.Context(), r)
	require.ErrorIs(t, err, store.ErrTurnEnded)
	require.Len(t, rows(t, s, turn.SessionID), before)
}

func TestTools_FinishInAnyOrder_RowsAreInCallOrder(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}} {
		s := open(t)
		turn := running(t, s)
		ids := []string{"a", "b", "c"}
		answer(t, s, turn.ID, 1, call(ids...))
		for n, pos := range order {
			require.Len(t, rows(t, s, turn.SessionID), 3, "no tool row before the last call of the step has ended")
			r := toolRun(turn.ID, 1, pos, ids[pos])
			r.Status, r.Result = chat.ToolCompleted, "result of "+ids[pos]
			_, err := s.CommitTool(t.Context(), r)
			require.NoError(t, err)
			if n == len(order)-1 {
				_, err = s.CommitTool(t.Context(), r) // a second attempt adds nothing
				require.NoError(t, err)
			}
		}
		got := rows(t, s, turn.SessionID)[3:]
		require.Len(t, got, 3)
		for i, r := range got {
			require.Equal(t, ids[i], r.ToolCallID)
			require.Equal(t, "result of "+ids[i], r.Content)
		}
		require.Equal(t, 2, begin(t, s, turn.SessionID).Step)
	}
}

func TestClaim_SecondAttempt_FindsTheFirst(t *testing.T) {
	s := open(t)
	turn := running(t, s)
	answer(t, s, turn.ID, 1, call("a"))
	_, fresh, err := s.ClaimTool(t.Context(), toolRun(turn.ID, 1, 0, "a"))
	require.NoError(t, err)
	require.True(t, fresh)
	run, fresh, err := s.ClaimTool(t.Context(), toolRun(turn.ID, 1, 0, "a"))
	require.NoError(t, err)
	require.False(t, fresh)
	require.Equal(t, chat.ToolClaimed, run.Status)
}

func TestClaim_CancelWasAskedFor_NothingNewMayStart(t *testing.T) {
	s := open(t)
	turn := running(t, s)
	answer(t, s, turn.ID, 1, call("a", "b"))
	_, _, err := s.ClaimTool(t.Context(), toolRun(turn.ID, 1, 0, "a"))
	require.NoError(t, err)
	_, err = s.Cancel(t.Context(), turn.SessionID, turn.ID)
	require.NoError(t, err)
	_, _, err = s.ClaimTool(t.Context(), toolRun(turn.ID, 1, 1, "b"))
	require.ErrorIs(t, err, store.ErrTurnEnded)
	run, fresh, err := s.ClaimTool(t.Context(), toolRun(turn.ID, 1, 0, "a"))
	require.NoError(t, err, "what had been claimed is still known")
	require.False(t, fresh)
	require.Equal(t, chat.ToolClaimed, run.Status)
	claimed, err := s.ClaimedRuns(t.Context(), turn.ID)
	require.NoError(t, err)
	require.Len(t, claimed, 1)
}

func TestForgive_StartsTheCountOfClaimsAnew(t *testing.T) {
	s := open(t)
	turn := running(t, s)
	require.Equal(t, 2, begin(t, s, turn.SessionID).Turn.Claims)
	require.NoError(t, s.Forgive(t.Context(), turn.ID))
	require.Equal(t, 1, begin(t, s, turn.SessionID).Turn.Claims)
}

func TestBegin_SaysWhetherTheSessionHasItsPrompt(t *testing.T) {
	s := open(t)
	turn := accept(t, s, message("m1", "hello"))
	beginWith := func(prompt string) bool {
		p, err := s.BeginTurn(t.Context(), store.Begin{SessionID: turn.SessionID, AgentPrompt: prompt})
		require.NoError(t, err)
		return p.NoPrompt
	}
	require.True(t, beginWith(""), "the prompt could not be read")
	require.True(t, beginWith("be good"), "a turn that has begun gets no prompt in its middle")
	answer(t, s, turn.ID, 1, say("hi"))
	accept(t, s, message("m2", "again"))
	require.False(t, beginWith("be good"))
	require.False(t, beginWith(""), "it has one now")
}

func unfinished(t *testing.T, s *store.Store, quietFor time.Duration) []string {
	t.Helper()
	ids, err := s.Unfinished(t.Context(), quietFor)
	require.NoError(t, err)
	return ids
}

func TestUnfinished_ListsOpenTurnsLongestWaitingFirst(t *testing.T) {
	s := open(t)
	require.Empty(t, unfinished(t, s, 0))
	var want []string
	for _, chatID := range []string{"b", "a", "c"} {
		m := message("m1", "hello")
		m.ChatID = chatID
		want = append(want, accept(t, s, m).SessionID)
	}
	require.Equal(t, want, unfinished(t, s, 0))
	p := begin(t, s, want[1])
	require.Equal(t, want, unfinished(t, s, 0), "a running one is unfinished too")
	answer(t, s, p.Turn.ID, 1, say("hi"))
	require.Equal(t, []string{want[0], want[2]}, unfinished(t, s, 0))
}

func TestUnfinished_UnsentReply_CountsExceptATerminals(t *testing.T) {
	s := open(t)
	for _, channel := range []string{"feishu", chat.ChannelCLI} {
		m := message("m1", "hello")
		m.Channel = channel
		turn := accept(t, s, m)
		begin(t, s, turn.SessionID)
		a := say("hi")
		a.Deliver = true
		done := answer(t, s, turn.ID, 1, a)
		require.Len(t, done.Outbound, 1)
		if channel == chat.ChannelCLI {
			require.Empty(t, unfinished(t, s, 0), "it waits for somebody to connect")
			continue
		}
		require.Equal(t, []string{turn.SessionID}, unfinished(t, s, 0))
		require.NoError(t, s.MarkOutbound(t.Context(), done.Outbound[0], "pending", "", "busy"))
		require.Equal(t, []string{turn.SessionID}, unfinished(t, s, 0))
		require.NoError(t, s.MarkOutbound(t.Context(), done.Outbound[0], "sent", "om_1", ""))
		require.Empty(t, unfinished(t, s, 0))
	}
}

func TestUnfinished_OnlyWithoutProgressForAWhile(t *testing.T) {
	s, c := openAt(t, record.At(t, filepath.Join(t.TempDir(), "sessions.db")))
	turn := running(t, s)
	quiet := []string{turn.SessionID}
	require.Empty(t, unfinished(t, s, time.Minute))
	c.move(2 * time.Minute)
	require.Equal(t, quiet, unfinished(t, s, time.Minute))
	answer(t, s, turn.ID, 1, call("a"))
	require.Empty(t, unfinished(t, s, time.Minute), "it got on")
	c.move(-time.Hour)
	require.Equal(t, quiet, unfinished(t, s, time.Minute), "progress in the future says nothing: the clock went back")
}

func TestFinish_GivesEveryOpenCallAResult(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	turn := running(t, s)
	answer(t, s, turn.ID, 1, call("done", "claimed", "never"))
	r := toolRun(turn.ID, 1, 0, "done")
	r.Status, r.Result = chat.ToolCompleted, "ok"
	_, err := s.CommitTool(t.Context(), r)
	require.NoError(t, err)
	_, _, err = s.ClaimTool(t.Context(), toolRun(turn.ID, 1, 1, "claimed"))
	require.NoError(t, err)

	f := store.Finish{TurnID: turn.ID, Status: chat.TurnFailed, Code: "auth", Text: "the key was refused", NotRun: "Error: not run", Unknown: "Unknown outcome: ended", Deliver: true}
	done, err := s.FinishTurn(t.Context(), f)
	require.NoError(t, err)
	require.Equal(t, chat.TurnFailed, done.Turn.Status)
	require.Len(t, done.Outbound, 1)
	got := rows(t, s, turn.SessionID)[3:]
	require.Equal(t, []string{"tool", "tool", "tool", "assistant"}, roles(got))
	require.Equal(t, []string{"ok", "Unknown outcome: ended", "Error: not run", "the key was refused"},
		[]string{got[0].Content, got[1].Content, got[2].Content, got[3].Content})
	require.Equal(t, chat.MarkerError, got[3].Marker)

	f.Status, f.Text = chat.TurnCancelled, "other"
	again, err := s.FinishTurn(t.Context(), f)
	require.NoError(t, err)
	require.Equal(t, chat.TurnFailed, again.Turn.Status, "a turn ends once")
	require.Len(t, rows(t, s, turn.SessionID), 7)
	require.Equal(t, "failed", query[string](t, path, `SELECT status FROM inbound_messages`))
}

func TestCancel_RunningTurn_EndsAsCancelledWhateverFails(t *testing.T) {
	s := open(t)
	turn := running(t, s)
	c, err := s.Cancel(t.Context(), turn.SessionID, "")
	require.NoError(t, err)
	require.True(t, c.Running)
	asked, err := s.CancelRequested(t.Context(), turn.ID)
	require.NoError(t, err)
	require.True(t, asked)
	_, err = s.CommitAnswer(t.Context(), turn.ID, 1, say("too late"))
	require.ErrorIs(t, err, store.ErrTurnEnded)
	done, err := s.FinishTurn(t.Context(), store.Finish{TurnID: turn.ID, Status: chat.TurnFailed, Code: "x", Text: "x"})
	require.NoError(t, err)
	require.Equal(t, chat.TurnCancelled, done.Turn.Status)
	require.Equal(t, []string{"system", "user"}, roles(rows(t, s, turn.SessionID)))
	_, err = s.Cancel(t.Context(), turn.SessionID, "")
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestCancel_WaitingTurn_EndsAtOnceAndTheRunningOneGoesOn(t *testing.T) {
	s := open(t)
	first := running(t, s)
	second := accept(t, s, message("m2", "two"))
	third := accept(t, s, message("m3", "three"))
	c, err := s.Cancel(t.Context(), first.SessionID, third.ID)
	require.NoError(t, err)
	require.False(t, c.Running)
	require.Equal(t, chat.TurnCancelled, c.Turn.Status)
	answer(t, s, first.ID, 1, say("one"))
	require.Equal(t, second.ID, begin(t, s, first.SessionID).Turn.ID)
	answer(t, s, second.ID, 1, say("two"))
	require.Nil(t, begin(t, s, first.SessionID))
}

func TestChanges_TellEverythingOnceInOrder(t *testing.T) {
	s := open(t)
	turn := accept(t, s, message("m1", "hello"))
	var c store.Cursor
	next := func() store.Changes {
		ch, err := s.Changes(t.Context(), turn.SessionID, c)
		require.NoError(t, err)
		c = ch.Next
		return ch
	}
	ch := next()
	require.Equal(t, chat.TurnQueued, ch.Turns[0].Status)
	begin(t, s, turn.SessionID)
	ch = next()
	require.Equal(t, chat.TurnRunning, ch.Turns[0].Status)
	require.Equal(t, []string{"user"}, roles(ch.Rows), "system rows are not for clients")
	answer(t, s, turn.ID, 1, call("a"))
	_, _, err := s.ClaimTool(t.Context(), toolRun(turn.ID, 1, 0, "a"))
	require.NoError(t, err)
	ch = next()
	require.Equal(t, chat.ToolClaimed, ch.Tools[0].Status)
	r := toolRun(turn.ID, 1, 0, "a")
	r.Status, r.Result = chat.ToolCompleted, "A"
	_, err = s.CommitTool(t.Context(), r)
	require.NoError(t, err)
	answer(t, s, turn.ID, 2, say("done"))
	ch = next()
	require.Equal(t, []string{"tool", "assistant"}, roles(ch.Rows))
	require.Equal(t, chat.ToolCompleted, ch.Tools[0].Status)
	require.Equal(t, chat.TurnCompleted, ch.Turns[0].Status)
	ch = next()
	require.Empty(t, ch.Rows)
	require.Empty(t, ch.Turns)
	require.Empty(t, ch.Tools)
}

func TestSeq_ManySessionsAtOnce_HasNoGaps(t *testing.T) {
	s := open(t)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			m := message("m", "hi")
			m.ChatID = strconv.Itoa(i)
			for n := range 5 {
				m.ExternalID = strconv.Itoa(n)
				a, err := s.Accept(t.Context(), m)
				if err != nil {
					errs[i] = err
					return
				}
				if _, err = s.BeginTurn(t.Context(), store.Begin{SessionID: a.Turn.SessionID}); err == nil {
					_, err = s.CommitAnswer(t.Context(), a.Turn.ID, 1, say("x"))
				}
				errs[i] = errors.Join(errs[i], err)
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	list, err := s.Sessions(t.Context(), store.SessionFilter{})
	require.NoError(t, err)
	require.Len(t, list, 8)
	for _, sess := range list {
		require.Len(t, rows(t, s, sess.ID), 10)
	}
}
