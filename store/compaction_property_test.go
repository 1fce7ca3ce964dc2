package store_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/chat"
	"picobot/internal/compact"
	"picobot/internal/prompt"
	"picobot/internal/testkit/strict"
	"picobot/store"
)

// history is a session to which anything may happen, and what must be true of it.
type history struct {
	*rapid.T
	s       *store.Store
	raw     *sql.DB
	chat    string
	id      string // the session's
	n       int    // names things
	prompt  string
	running string // turn, "" = none
	step    int    // its last answered step
	open    []int  // calls of that step without a result
	calls   []string
	plans   []store.CompactionPlan // looked at and not summarised yet
	written []string               // compactions that have a summary
	spoken  []store.Row            // every original so far
	cut     int64                  // seq of the original that the active segment begins with
	keep    int
}

func (h *history) ok(err error) {
	h.Helper()
	require.NoError(h, err)
}

func (h *history) name(what string) string {
	h.n++
	return fmt.Sprintf("%s.%s%d", h.chat, what, h.n)
}

func (h *history) begin() *store.Position {
	p, err := h.s.BeginTurn(h.Context(), store.Begin{SessionID: h.id, WorkflowID: "w", RunID: "r", AgentPrompt: h.prompt, ReinjectEvery: 2})
	h.ok(err)
	return p
}

// beginTurn begins a turn; where one runs it is begun again, as after a crash.
func (h *history) beginTurn() {
	if h.running == "" {
		m := store.Inbound{Channel: "cli", ChatID: h.chat, ExternalID: h.name("m"), SenderID: "me", Content: h.text("user")}
		if rapid.IntRange(0, 4).Draw(h.T, "media") == 0 {
			m.Media = []chat.MediaRef{{Type: "image", Path: "a.png", MIME: "image/png"}}
			m.Content = ""
		}
		if rapid.IntRange(0, 3).Draw(h.T, "new prompt") == 0 {
			h.prompt = h.name("prompt")
		}
		a, err := h.s.Accept(h.Context(), m)
		h.ok(err)
		h.id, h.running, h.step, h.open = a.SessionID, a.Turn.ID, 0, nil
	}
	p := h.begin()
	require.Equal(h, h.running, p.Turn.ID)
	want := h.step
	if len(h.open) == 0 {
		want++
	}
	require.Equal(h, want, p.Step, "the turn stands where it stood")
	var open []int
	for _, o := range p.Open {
		open = append(open, o.Position)
	}
	require.Equal(h, h.open, open)
}

func (h *history) text(what string) string {
	return h.name(what) + strings.Repeat(" words", rapid.IntRange(0, 40).Draw(h.T, "length"))
}

// work takes the running turn one thing further.
func (h *history) work() {
	switch {
	case h.running == "":
		h.beginTurn()
	case len(h.open) > 0:
		i := rapid.IntRange(0, len(h.open)-1).Draw(h.T, "call")
		pos := h.open[i]
		r := toolRun(h.running, h.step, pos, h.calls[pos])
		r.Status, r.Result = chat.ToolCompleted, h.text("result")
		_, err := h.s.CommitTool(h.Context(), r)
		h.ok(err)
		if h.open = slices.Delete(slices.Clone(h.open), i, i+1); len(h.open) == 0 {
			h.open = nil
		}
	case rapid.IntRange(0, 2).Draw(h.T, "more calls") > 0:
		h.request()
		h.calls, h.open = nil, nil
		for i := range rapid.IntRange(1, 3).Draw(h.T, "calls") {
			h.calls, h.open = append(h.calls, h.name("call")), append(h.open, i)
		}
		h.step++
		_, err := h.s.CommitAnswer(h.Context(), h.running, h.step, call(h.calls...))
		h.ok(err)
	default:
		h.request()
		_, err := h.s.CommitAnswer(h.Context(), h.running, h.step+1, say(h.text("answer")))
		h.ok(err)
		h.running, h.open = "", nil
	}
}

// end ends the running turn without an answer.
func (h *history) end() {
	if h.running == "" {
		return
	}
	f := store.Finish{TurnID: h.running, Status: chat.TurnFailed, Code: "x", Text: "it failed", NotRun: "Error: not run", Unknown: "Unknown outcome: x"}
	if rapid.Bool().Draw(h.T, "cancelled") {
		f.Status = chat.TurnCancelled
	}
	_, err := h.s.FinishTurn(h.Context(), f)
	h.ok(err)
	h.running, h.open = "", nil
}

// look is the first half of Summarise, write its second. Anything may happen between.
func (h *history) look() {
	if h.id == "" {
		return
	}
	p, err := h.s.PlanCompaction(h.Context(), h.id, h.keep, prompt.Weight, nil)
	h.ok(err)
	if p.Cut != 0 {
		h.plans = append(h.plans, p)
	}
}

func (h *history) write() {
	if len(h.plans) == 0 {
		return
	}
	i := rapid.IntRange(0, len(h.plans)-1).Draw(h.T, "plan")
	c := planned(h.plans[i])
	c.Summary = compact.Row(h.text("summary"), 1000)
	if rapid.IntRange(0, 4).Draw(h.T, "fruitless") == 0 {
		c.State = store.CompactionFruitless
	}
	done, err := h.s.AddSummary(h.Context(), c, nil, nil)
	h.ok(err)
	if done.ID != "" {
		h.written = append(h.written, done.ID)
	}
	if rapid.Bool().Draw(h.T, "forget") { // else the activity died and comes again
		h.plans = slices.Delete(h.plans, i, i+1)
	}
}

func (h *history) commit() {
	if len(h.written) == 0 {
		return
	}
	id := rapid.SampledFrom(h.written).Draw(h.T, "compaction")
	before, err := h.s.Session(h.Context(), h.id)
	h.ok(err)
	c, err := h.s.CommitCompaction(h.Context(), id, nil)
	h.ok(err)
	after, err := h.s.Session(h.Context(), h.id)
	h.ok(err)
	if after.ResetCutoffSeq == before.ResetCutoffSeq {
		require.Equal(h, before.LastSeq, after.LastSeq, "nothing is half done")
		return
	}
	require.Equal(h, store.CompactionCommitted, c.State)
	require.Equal(h, before.LastSeq, after.ResetCutoffSeq)
	require.Equal(h, before.ResetCutoffSeq, c.Base, "it was made for this segment")
	h.cut = h.originOf(c.Cut)
}

// rawQuery reads or writes the file itself.
func rawQuery[T any](h *history, q string, args ...any) T {
	var v T
	require.NoError(h, h.raw.QueryRowContext(h.Context(), q, args...).Scan(&v))
	return v
}

func (h *history) originOf(seq int64) int64 {
	return rawQuery[int64](h, `SELECT coalesce(origin_seq, seq) FROM messages WHERE session_id = ? AND seq = ?`, h.id, seq)
}

// reset is what /reset does to a session in which nothing runs.
func (h *history) reset() {
	if h.running != "" || h.id == "" {
		return
	}
	h.cut = rawQuery[int64](h, `UPDATE sessions SET reset_cutoff_seq = last_seq WHERE id = ? RETURNING last_seq`, h.id) + 1
}

// originals are what an export shows: it only ever grows.
func (h *history) originals() {
	if h.id == "" {
		return
	}
	var all []store.Row
	for from := int64(0); ; {
		page, err := h.s.Messages(h.Context(), h.id, from, 7)
		h.ok(err)
		if len(page) == 0 {
			break
		}
		all = append(all, page...)
		from = page[len(page)-1].Seq
	}
	require.GreaterOrEqual(h, len(all), len(h.spoken))
	require.True(h, slices.EqualFunc(h.spoken, all[:len(h.spoken)], func(a, b store.Row) bool { return said(a) == said(b) && a.Seq == b.Seq }), "originals are in order, none is lost or doubled")
	for i, r := range all {
		require.True(h, i == 0 || all[i-1].Seq < r.Seq, "in order")
		require.Zero(h, r.OriginSeq)
		require.NotEqual(h, chat.MarkerHistoryCompaction, r.Marker)
	}
	h.spoken = all
}

// request checks what the running turn's next request is built from.
func (h *history) request() {
	h.originals()
	c, err := h.s.TurnContext(h.Context(), h.running, func(store.Session) int { return 1 << 30 })
	h.ok(err)
	var kept []string // what people, models and tools said
	for _, r := range c.Rows {
		if r.Role != chat.RoleSystem {
			kept = append(kept, said(r))
		}
	}
	var want []string
	for _, r := range h.spoken {
		if r.Role != chat.RoleSystem && r.Seq >= h.cut {
			want = append(want, said(r))
		}
	}
	require.Equal(h, want, kept, "every row from the cut on is there once, in order")
	require.Equal(h, chat.RoleUser, firstSaid(c.Rows).Role, "the first turn is whole")
	prompts := 0
	for _, r := range c.Rows {
		prompts += count(r.Marker == chat.MarkerAgentPrompt)
	}
	require.NotZero(h, prompts, "the agent's prompt is never lost")

	messages := make([]chat.Message, len(c.Rows))
	for i, r := range c.Rows {
		messages[i] = r.Message
	}
	require.Empty(h, strict.Conversation(strictly(h, prompt.Messages(messages)), func(string) bool { return false }))
}

func said(r store.Row) string {
	calls, _ := json.Marshal(r.ToolCalls)
	media, _ := json.Marshal(r.Media)
	return fmt.Sprintf("%d %s %s %q %s %s %s %s %d", r.CreatedAt, r.Role, r.Marker, r.Content, calls, media, r.ToolCallID, r.TurnID, r.Step)
}

func firstSaid(rows []store.Row) store.Row {
	for _, r := range rows {
		if r.Role != chat.RoleSystem {
			return r
		}
	}
	return store.Row{}
}

func strictly(t require.TestingT, messages []chat.Message) (out []strict.Row) {
	for i, m := range messages {
		r := strict.Row{Seq: int64(i), Role: string(m.Role), Content: m.Content, Media: len(m.Media) > 0, ToolCallID: m.ToolCallID}
		b, err := json.Marshal(m.ToolCalls)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, &r.Calls))
		out = append(out, r)
	}
	return out
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Property: whatever was said, whatever is running, however often and in whatever order
// the steps of compactions are taken, repeated or left out.
func TestCompaction_AnyHistory_AnyMoment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	raw, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, raw.Close()) })
	chats := 0
	rapid.Check(t, func(rt *rapid.T) {
		chats++
		h := &history{T: rt, s: s, raw: raw, chat: fmt.Sprint("c", chats), prompt: "be good", keep: rapid.IntRange(1, 3).Draw(rt, "keep")}
		do := []func(){h.beginTurn, h.work, h.work, h.work, h.work, h.work, h.end, h.look, h.look, h.write, h.write, h.commit, h.commit, h.reset}
		for range rapid.IntRange(10, 60).Draw(rt, "length") {
			do[rapid.IntRange(0, len(do)-1).Draw(rt, "what")]()
			h.originals()
		}
		// In the end everybody gets on.
		for h.running != "" {
			h.work()
		}
		h.look()
		h.write()
		h.commit()
		h.beginTurn()
		h.request()
		h.end()
	})
	sound(t, path)
}
