package store_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/compact"
	"picobot/internal/prompt"
	"picobot/store"
)

// dialog is a session under test.
type dialog struct {
	*testing.T
	s     *store.Store
	path  string
	clock *clock
	id    string // the session's
	n     int
}

func newDialog(t *testing.T) *dialog {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, c := openAt(t, path)
	return &dialog{T: t, s: s, path: path, clock: c}
}

// start begins a turn.
func (k *dialog) start(content string) store.Turn {
	k.Helper()
	k.n++
	turn := accept(k.T, k.s, message(fmt.Sprint("t", k.n), content))
	k.id = turn.SessionID
	require.Equal(k, turn.ID, begin(k.T, k.s, turn.SessionID).Turn.ID)
	return turn
}

// turns answers so many messages.
func (k *dialog) turns(n int) {
	k.Helper()
	for range n {
		turn := k.start(fmt.Sprintf("question %d %s", k.n, strings.Repeat("word ", 50)))
		answer(k.T, k.s, turn.ID, 1, say(fmt.Sprintf("answer %d %s", k.n, strings.Repeat("word ", 50))))
	}
}

func (k *dialog) plan(keep int) store.CompactionPlan {
	k.Helper()
	p, err := k.s.PlanCompaction(k.Context(), k.id, keep, prompt.Weight, nil)
	require.NoError(k, err)
	return p
}

// summarise writes a summary down.
func (k *dialog) summarise(keep int) store.Compaction {
	k.Helper()
	p := k.plan(keep)
	require.NotZero(k, p.Cut)
	c, err := k.s.AddSummary(k.Context(), planned(p), []store.ModelCall{{Model: "m", Provider: "p", Usage: chat.Usage{PromptTokens: 7}}}, nil)
	require.NoError(k, err)
	return c
}

func planned(p store.CompactionPlan) store.Compaction {
	return store.Compaction{SessionID: p.Session.ID, Base: p.Session.ResetCutoffSeq, Cut: p.Cut, State: store.CompactionSummarised,
		Source: store.SummaryByModel, Summary: compact.Row("they talked", 100), Before: 100, After: 10}
}

func (k *dialog) commit(id string) store.Compaction {
	k.Helper()
	c, err := k.s.CommitCompaction(k.Context(), id, nil)
	require.NoError(k, err)
	return c
}

func (k *dialog) session() store.Session {
	k.Helper()
	sess, err := k.s.Session(k.Context(), k.id)
	require.NoError(k, err)
	return sess
}

// active are the rows that the next request of a turn is built from.
func (k *dialog) active(turnID string) []store.Row {
	k.Helper()
	c, err := k.s.TurnContext(k.Context(), turnID, func(store.Session) int { return 1 << 30 })
	require.NoError(k, err)
	return c.Rows
}

func (k *dialog) reset() {
	k.Helper()
	query[int](k.T, k.path, `UPDATE sessions SET reset_cutoff_seq = last_seq WHERE id = ? RETURNING 1`, k.id)
}

// outline shows rows as role or marker, and of which original they are.
func outline(rows []store.Row) (out []string) {
	for _, r := range rows {
		what := string(r.Marker)
		if what == "" {
			what = string(r.Role)
		}
		if r.OriginSeq != 0 {
			what += fmt.Sprint(" of ", r.OriginSeq)
		}
		out = append(out, what)
	}
	return out
}

func TestCompaction_PutsASummaryInTheOlderRowsPlace(t *testing.T) {
	k := newDialog(t)
	k.turns(3)
	before := k.session()
	originals := rows(t, k.s, k.id)
	c := k.commit(k.summarise(1).ID)
	require.Equal(t, store.CompactionCommitted, c.State)

	turn := k.start("go on")
	require.Equal(t, []string{"agent_prompt of 1", "history_compaction", "user of 6", "assistant of 7", "user"}, outline(k.active(turn.ID)))
	answer(t, k.s, turn.ID, 1, say("done"))

	after, err := k.s.Messages(t.Context(), k.id, 0, 0)
	require.NoError(t, err)
	require.Equal(t, originals, after[:len(originals)], "originals stay, copies and the summary are not shown")
	require.Equal(t, []string{"user", "assistant"}, outline(after[len(originals):]))
	now := k.session()
	require.Equal(t, before.MessageCount+1, now.MessageCount)
	require.Equal(t, before.TotalMessageCount+3, now.TotalMessageCount, "the summary is no copy")
	require.Equal(t, before.LastSeq, now.ResetCutoffSeq)
	seen, err := k.s.Changes(t.Context(), k.id, store.Cursor{})
	require.NoError(t, err)
	for _, r := range seen.Rows {
		require.Zero(t, r.OriginSeq)
		require.NotEqual(t, chat.RoleSystem, r.Role)
	}
	require.Len(t, seen.Rows, 8)
	sound(t, k.path)
}

func TestCompaction_IsNoActivityOfTheSession(t *testing.T) {
	k := newDialog(t)
	k.turns(3)
	before := k.session().LastActiveAt
	k.commit(k.summarise(1).ID)
	require.Equal(t, before, k.session().LastActiveAt)
}

// The turn's rows are copied while it runs: each is in the next request once, and its
// look-ups find the originals.
func TestCompaction_WhileATurnRuns_TheTurnGoesOn(t *testing.T) {
	k := newDialog(t)
	k.turns(3)
	turn := k.start("work")
	answer(t, k.s, turn.ID, 1, call("a", "b"))
	c := k.summarise(1)
	_, err := k.s.CommitTool(t.Context(), result(turn.ID, 1, 0, "a"))
	require.NoError(t, err)
	require.Equal(t, store.CompactionCommitted, k.commit(c.ID).State)

	p := begin(t, k.s, k.id)
	require.Equal(t, 1, p.Step)
	require.Equal(t, []store.OpenCall{{Position: 1, Call: p.Open[0].Call}}, p.Open)
	_, err = k.s.CommitTool(t.Context(), result(turn.ID, 1, 1, "b"))
	require.NoError(t, err)
	require.Equal(t, 2, begin(t, k.s, k.id).Step)
	answer(t, k.s, turn.ID, 2, call("c"))
	again := answer(t, k.s, turn.ID, 1, call("never"))
	require.True(t, again.Existing)
	require.Zero(t, again.Answer.OriginSeq)
	_, err = k.s.CommitTool(t.Context(), result(turn.ID, 2, 0, "c"))
	require.NoError(t, err)
	require.Equal(t, []string{"agent_prompt of 1", "history_compaction", "user of 8", "assistant of 9", "tool", "tool", "assistant", "tool"}, outline(k.active(turn.ID)))
	answer(t, k.s, turn.ID, 3, say("done"))
	taken, err := k.s.CallTaken(t.Context(), k.id, "a")
	require.NoError(t, err)
	require.True(t, taken)
	sound(t, k.path)
}

func result(turnID string, step, pos int, callID string) store.ToolRun {
	r := toolRun(turnID, step, pos, callID)
	r.Status, r.Result = chat.ToolCompleted, "result of "+callID
	return r
}

// What arrives between the look and the commit stays as it is.
func TestCompaction_RowsArriveBeforeTheCommit_NoneIsMissing(t *testing.T) {
	k := newDialog(t)
	k.turns(3)
	c := k.summarise(1)
	k.turns(2)
	k.commit(c.ID)
	turn := k.start("go on")
	require.Equal(t, []string{"agent_prompt of 1", "history_compaction", "user of 6", "assistant of 7", "user of 8", "assistant of 9", "user of 10", "assistant of 11", "user"},
		outline(k.active(turn.ID)))
	sound(t, k.path)
}

func TestCompaction_OfACompactedSession_CopiesAreOfOriginals(t *testing.T) {
	k := newDialog(t)
	k.turns(4)
	k.commit(k.summarise(2).ID)
	k.turns(1)
	var older []string
	p, err := k.s.PlanCompaction(t.Context(), k.id, 2, prompt.Weight, func(m chat.Message) { older = append(older, string(m.Role)) })
	require.NoError(t, err)
	require.Equal(t, []string{"assistant", "user", "system"}, older, "the earlier summary is summarised, too")
	require.NotZero(t, p.Older)
	k.commit(k.summarise(2).ID)
	turn := k.start("go on")
	require.Equal(t, []string{"agent_prompt of 1", "history_compaction", "user of 8", "assistant of 9", "user of 16", "assistant of 17", "user"}, outline(k.active(turn.ID)))
	sound(t, k.path)
}

func TestCompaction_TwoAtOnce_OneIsDropped(t *testing.T) {
	k := newDialog(t)
	k.turns(4)
	p := k.plan(1) // another process, slower
	first := k.summarise(1)
	require.Equal(t, first.ID, k.plan(1).Open.ID, "whoever looks now finds the summary")
	again, err := k.s.AddSummary(t.Context(), planned(p), nil, nil)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, store.CompactionCommitted, k.commit(first.ID).State)
	require.Equal(t, store.CompactionCommitted, k.commit(first.ID).State, "again changes nothing")
	late, err := k.s.AddSummary(t.Context(), planned(p), nil, nil)
	require.NoError(t, err)
	require.Equal(t, store.CompactionDropped, late.State)
	require.Equal(t, int64(1), query[int64](t, k.path, `SELECT count(*) FROM messages WHERE marker = 'history_compaction'`))
	sound(t, k.path)
}

func TestCompaction_TheSessionWasResetMeanwhile_IsDropped(t *testing.T) {
	k := newDialog(t)
	k.turns(4)
	c := k.summarise(1)
	k.reset()
	k.turns(1)
	require.Zero(t, k.plan(1).Open)
	require.Equal(t, store.CompactionDropped, k.commit(c.ID).State)
	turn := k.start("go on")
	require.Equal(t, []string{"agent_prompt", "user", "assistant", "user"}, outline(k.active(turn.ID)))
	sound(t, k.path)
}

func TestCompaction_DeletedSession_IsDropped(t *testing.T) {
	k := newDialog(t)
	k.turns(4)
	c := k.summarise(1)
	query[int](t, k.path, `UPDATE sessions SET deleted_at = 1, active = 0 RETURNING 1`)
	require.Equal(t, store.CompactionDropped, k.commit(c.ID).State)
}

func TestPlanCompaction_NoMoreTurnsThanStay_HasNoCut(t *testing.T) {
	k := newDialog(t)
	k.turns(2)
	require.Zero(t, k.plan(2).Cut)
	require.NotZero(t, k.plan(1).Cut)
	require.Zero(t, k.plan(2).Older)
	require.Zero(t, k.plan(3).Cut)
}

// Of a prompt that was changed the newest stays, wherever it is.
func TestCompaction_ChangedPrompt_TheNewestStays(t *testing.T) {
	k := newDialog(t)
	k.turns(3)
	a := accept(t, k.s, message("new", "hello"))
	_, err := k.s.BeginTurn(t.Context(), store.Begin{SessionID: k.id, AgentPrompt: "be better", ReinjectEvery: 1})
	require.NoError(t, err)
	answer(t, k.s, a.ID, 1, say("hi"))
	k.turns(1) // with the old prompt: not yet due again
	k.commit(k.summarise(2).ID)
	turn := k.start("go on")
	require.Equal(t, []string{"agent_prompt of 8", "history_compaction", "user of 9", "assistant of 10", "user of 11", "assistant of 12"}, outline(k.active(turn.ID))[:6])
	require.Equal(t, "be better", k.active(turn.ID)[0].Content)
	sound(t, k.path)
}

// ReinjectEvery counts what people said, not when it was copied.
func TestBegin_ChangedPromptAfterACompaction_IsInjectedWhenDue(t *testing.T) {
	k := newDialog(t)
	k.turns(3)
	k.commit(k.summarise(1).ID)
	turn := accept(t, k.s, message("next", "hello"))
	_, err := k.s.BeginTurn(t.Context(), store.Begin{SessionID: k.id, AgentPrompt: "be better", ReinjectEvery: 3})
	require.NoError(t, err)
	last := k.active(turn.ID)
	require.Equal(t, []string{"agent_prompt", "user"}, outline(last[len(last)-2:]))
}

func TestAttach_BehindACompaction_KnowsTheTurnBefore(t *testing.T) {
	k := newDialog(t)
	k.turns(3)
	before, err := k.s.Attach(t.Context(), k.id, ptr(k.session().LastSeq))
	require.NoError(t, err)
	k.commit(k.summarise(1).ID)
	after, err := k.s.Attach(t.Context(), k.id, ptr(k.session().LastSeq))
	require.NoError(t, err)
	require.Equal(t, before.LastTurn, after.LastTurn)
	require.Equal(t, before.Turns, after.Turns)
	require.Len(t, after.Turns, 1, "only the one whose row is the last")
}

func ptr[T any](v T) *T { return &v }

func TestAddSummary_IsPaidForOutsideOfAnyTurn(t *testing.T) {
	k := newDialog(t)
	k.turns(3)
	k.summarise(1)
	require.Equal(t, int64(7), query[int64](t, k.path, `SELECT sum(prompt_tokens) FROM model_calls WHERE turn_id IS NULL`))
	ended, err := k.s.Tally().Next(t.Context())
	require.NoError(t, err)
	require.Len(t, ended.Calls, 4)
	require.EqualValues(t, 7, ended.Calls[3].Usage.PromptTokens)
}

func TestFruitlessCompaction_IsCounted_UntilOneGainsOrTheSegmentEnds(t *testing.T) {
	k := newDialog(t)
	k.turns(4)
	fruitless := func() {
		p := planned(k.plan(1))
		p.State = store.CompactionFruitless
		c, err := k.s.AddSummary(t.Context(), p, nil, nil)
		require.NoError(t, err)
		require.Empty(t, c.Summary)
		require.Equal(t, store.CompactionFruitless, k.commit(c.ID).State)
	}
	fruitless()
	fruitless()
	require.Equal(t, store.Compacting{Strikes: 2, Size: 100}, k.session().Compacting)
	k.commit(k.summarise(1).ID)
	require.Zero(t, k.session().Compacting)
	k.turns(2)
	fruitless()
	require.Equal(t, 1, k.session().Compacting.Strikes)
	k.reset()
	require.Zero(t, k.session().Compacting.Strikes)
}

func TestCompactionDue_UntilItIsDone(t *testing.T) {
	k := newDialog(t)
	turn := k.start("hello")
	a := say("hi")
	a.CompactionDue, a.Estimate, a.Reported = true, 10, 20
	answer(t, k.s, turn.ID, 1, a)
	require.Equal(t, store.Compacting{Due: store.DueSize, Estimate: 10, Reported: 20}, k.session().Compacting)
	due, err := k.s.CompactionsDue(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{k.id}, due)
	seen := k.session()
	query[int](t, k.path, `UPDATE sessions SET compaction = 2 RETURNING 1`) // somebody asks for it
	_, err = k.s.CompactionNotDue(t.Context(), seen, nil)
	require.NoError(t, err)
	require.Equal(t, store.DueAsked, k.session().Compacting.Due)
	require.NoError(t, k.s.SetCompactionDue(t.Context(), k.id))
	require.Equal(t, store.DueAsked, k.session().Compacting.Due)
	_, err = k.s.CompactionNotDue(t.Context(), k.session(), nil)
	require.NoError(t, err)
	due, err = k.s.CompactionsDue(t.Context())
	require.NoError(t, err)
	require.Empty(t, due)
}

func TestSetModelTitle_OnlyWhereNobodyGaveOne(t *testing.T) {
	k := newDialog(t)
	k.turns(1)
	require.NoError(t, k.s.SetModelTitle(t.Context(), k.id, "", nil))
	require.Equal(t, "New chat", k.session().Title)
	require.Equal(t, 1, k.session().TitleTries)
	require.NoError(t, k.s.SetModelTitle(t.Context(), k.id, "A fine title", []store.ModelCall{{Model: "m", Provider: "p"}}))
	require.Equal(t, "A fine title", k.session().Title)
	require.Equal(t, store.TitleByModel, k.session().TitleSource)
	require.Equal(t, int64(1), query[int64](t, k.path, `SELECT count(*) FROM model_calls WHERE turn_id IS NULL`))
	query[int](t, k.path, `UPDATE sessions SET title = 'Mine', titled = 1, title_source = 'default' RETURNING 1`)
	require.NoError(t, k.s.SetModelTitle(t.Context(), k.id, "Another fine title", nil))
	require.Equal(t, "Mine", k.session().Title)
}

// The prompt stands before everything, where no look gets to that ends early; it counts.
func TestAskCompaction_APromptThatIsMostOfIt_LeavesNothingToGain(t *testing.T) {
	k := newDialog(t)
	k.turns(6)
	query[int](t, k.path, `UPDATE messages SET content = ? WHERE marker = 'agent_prompt' RETURNING 1`, strings.Repeat("be good ", 10_000))
	all := k.plan(2)
	var asked bool
	var last store.CompactionPlan
	commandRun(t, k.s, message("compact", "/compact"), "compact", func(tx *store.CommandTx) (_ store.CommandAnswer, err error) {
		asked, err = tx.AskCompaction(2, prompt.Weight, func(p store.CompactionPlan) bool {
			last = p
			return compact.Worth(p.Weight, p.Weight-p.Older)
		})
		return store.CommandAnswer{}, err
	})
	require.False(t, asked)
	require.Equal(t, all.Weight, last.Weight)
	require.Equal(t, all.Older, last.Older)
}

// A person asks while the record is locked: what cannot change the answer is not read.
func TestAskCompaction_LongSession_ReadsNoMoreThanItMust(t *testing.T) {
	s := open(t)
	for i := range 40 {
		turn := accept(t, s, message(fmt.Sprint(i), "hello"))
		begin(t, s, turn.SessionID)
		answer(t, s, turn.ID, 1, say("hi"))
	}
	ask := func(keep, worth int) (looked int, asked bool) {
		t.Helper()
		_, err := s.RunCommand(t.Context(), message(fmt.Sprint("ask", keep, worth), "/compact"), "compact", func(tx *store.CommandTx) (_ store.CommandAnswer, err error) {
			looked = 0
			asked, err = tx.AskCompaction(keep, func(chat.Message) int { looked++; return 1 }, func(p store.CompactionPlan) bool { return p.Older >= worth })
			return store.CommandAnswer{}, err
		})
		require.NoError(t, err)
		return looked, asked
	}
	looked, asked := ask(3, 4)
	require.True(t, asked)
	require.Equal(t, 1+3*2+4, looked, "the prompt, what stays, what is needed of the rest")
	_, asked = ask(3, 1000)
	require.False(t, asked)
}

// ask says /compact.
func (k *dialog) ask(externalID, chatID string) store.Accepted {
	k.Helper()
	got, err := k.s.RunCommand(k.Context(), store.Inbound{Channel: "cli", ChatID: chatID, ExternalID: externalID, SessionID: k.id, Content: "/compact"}, "compact",
		func(tx *store.CommandTx) (store.CommandAnswer, error) {
			started, err := tx.AskCompaction(1, prompt.Weight, func(store.CompactionPlan) bool { return true })
			require.True(k, started)
			return store.CommandAnswer{Text: "started"}, err
		})
	require.NoError(k, err)
	return got
}

func TestCompaction_ThatSomebodyAskedFor_TellsThemOnceHowItEnded(t *testing.T) {
	k := newDialog(t)
	k.turns(4)
	tells := func(what string) store.Telling {
		return func(sess store.Session, c store.Compaction) string {
			return fmt.Sprint(what, " ", sess.ID == k.id, " ", c.State)
		}
	}
	told := func(ids []string) []string {
		t.Helper()
		var out []string
		for _, id := range ids {
			o, err := k.s.Outbound(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, "pending", o.Status)
			out = append(out, fmt.Sprint(o.Origin, " ", o.ChatID, " ", o.Content))
		}
		return out
	}
	add := func(state string, say store.Telling) store.Compaction {
		t.Helper()
		c := planned(k.plan(1))
		c.State = state
		c, err := k.s.AddSummary(t.Context(), c, nil, say)
		require.NoError(t, err)
		return c
	}
	// One that nobody asked for is nobody's news.
	require.Empty(t, add(store.CompactionFruitless, tells("x")).Outbound)

	// Of several who ask, in any chat, the last one is told.
	k.ask("c1", "a")
	asked := k.ask("c2", "another room")
	require.Equal(t, []string{asked.Command.ID + " another room fruitless true fruitless"}, told(add(store.CompactionFruitless, tells("fruitless")).Outbound))

	asked = k.ask("c3", "a")
	c := add(store.CompactionSummarised, tells("too early"))
	require.Empty(t, c.Outbound, "it has not ended")
	for range 2 {
		done, err := k.s.CommitCompaction(t.Context(), c.ID, tells("done"))
		require.NoError(t, err)
		if c.State == store.CompactionSummarised {
			require.Equal(t, []string{asked.Command.ID + " a done true committed"}, told(done.Outbound))
		} else {
			require.Empty(t, done.Outbound)
		}
		c = done
	}

	k.turns(3)
	asked = k.ask("c4", "a")
	ids, err := k.s.CompactionNotDue(t.Context(), k.session(), tells("cannot"))
	require.NoError(t, err)
	require.Equal(t, []string{asked.Command.ID + " a cannot true "}, told(ids))
	ids, err = k.s.CompactionNotDue(t.Context(), k.session(), tells("again"))
	require.NoError(t, err)
	require.Empty(t, ids)
}
