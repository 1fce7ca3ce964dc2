package gateway

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/chat"
	"picobot/internal/live"
	"picobot/internal/llm"
	"picobot/internal/protocol"
	"picobot/store"
)

// fakeRecord is a session's part of the record as store keeps it, without a database.
type fakeRecord struct {
	rows     []store.Row
	turns    []store.Turn // in the order they were accepted
	tools    []store.ToolRun
	progress []live.Progress
	rev      int64
	page     int
}

func (r *fakeRecord) bump(t *store.Turn) { r.rev++; t.Rev = r.rev }

func (r *fakeRecord) accept() {
	t := store.Turn{ID: fmt.Sprintf("t%d", len(r.turns)+1), SessionID: "s", Status: chat.TurnQueued}
	r.bump(&t)
	r.turns = append(r.turns, t)
}

func (r *fakeRecord) first(status chat.TurnStatus) *store.Turn {
	for i := range r.turns {
		if r.turns[i].Status == status {
			return &r.turns[i]
		}
	}
	return nil
}

func (r *fakeRecord) append(t *store.Turn, step int, m chat.Message) {
	m.Seq = int64(len(r.rows) + 1)
	r.rows = append(r.rows, store.Row{Message: m, SessionID: "s", TurnID: t.ID, Step: step})
}

func (r *fakeRecord) begin() {
	t := r.first(chat.TurnQueued)
	if r.first(chat.TurnRunning) != nil || t == nil {
		return
	}
	t.Status, t.StartedAt = chat.TurnRunning, 1
	r.append(t, 0, chat.Message{Role: chat.RoleUser})
	r.bump(t)
}

// open returns the step that waits for tools with its calls, or nil calls when the
// model is to be called.
func (r *fakeRecord) open(t *store.Turn) (int, []chat.ToolCall) {
	for i := len(r.rows) - 1; i >= 0 && r.rows[i].TurnID == t.ID; i-- {
		if r.rows[i].Role == chat.RoleTool {
			break
		}
		if len(r.rows[i].ToolCalls) > 0 {
			return r.rows[i].Step, r.rows[i].ToolCalls
		}
	}
	return t.Steps + 1, nil
}

func (r *fakeRecord) delta(attempt int) {
	t := r.first(chat.TurnRunning)
	if t == nil {
		return
	}
	if step, calls := r.open(t); calls == nil {
		r.progress = append(r.progress, live.Progress{TurnID: t.ID, Step: step, Attempt: attempt, Kind: llm.DeltaText, Text: "x"})
	}
}

func (r *fakeRecord) answer(calls int) {
	t := r.first(chat.TurnRunning)
	if t == nil {
		return
	}
	step, open := r.open(t)
	if open != nil {
		return
	}
	m := chat.Message{Role: chat.RoleAssistant}
	for i := range calls {
		m.ToolCalls = append(m.ToolCalls, chat.NewToolCall(fmt.Sprintf("%s-%d-%d", t.ID, step, i), "bash", "{}"))
	}
	r.append(t, step, m)
	t.Steps++
	if calls == 0 {
		t.Status = chat.TurnCompleted
	}
	r.bump(t)
}

func (r *fakeRecord) run(turn string, step, pos int) *store.ToolRun {
	for i := range r.tools {
		if x := &r.tools[i]; x.TurnID == turn && x.Step == step && x.Position == pos {
			return x
		}
	}
	return nil
}

func (r *fakeRecord) claim(pos int, announce bool) {
	t := r.first(chat.TurnRunning)
	if t == nil {
		return
	}
	step, calls := r.open(t)
	if pos >= len(calls) || r.run(t.ID, step, pos) != nil {
		return
	}
	r.tools = append(r.tools, store.ToolRun{TurnID: t.ID, Step: step, Position: pos, CallID: calls[pos].ID, Name: "bash", Status: chat.ToolClaimed})
	if announce {
		r.progress = append(r.progress, live.Progress{TurnID: t.ID, Step: step, Tool: &live.ToolStart{Position: pos, CallID: calls[pos].ID, Name: "bash", Summary: "live"}})
	}
}

func (r *fakeRecord) commit(pos int, status chat.ToolStatus) {
	t := r.first(chat.TurnRunning)
	if t == nil {
		return
	}
	step, calls := r.open(t)
	if pos >= len(calls) {
		return
	}
	r.claim(pos, false) // a read-only tool is not claimed before
	if x := r.run(t.ID, step, pos); !x.Status.Final() {
		x.Status = status
		r.bump(t)
	}
	for i := range calls {
		if x := r.run(t.ID, step, i); x == nil || !x.Status.Final() {
			return
		}
	}
	for _, c := range calls {
		r.append(t, step, chat.Message{Role: chat.RoleTool, ToolCallID: c.ID})
	}
}

func (r *fakeRecord) finish(status chat.TurnStatus) {
	t := r.first(chat.TurnRunning)
	if t == nil {
		if t = r.first(chat.TurnQueued); t == nil || status != chat.TurnCancelled {
			return
		}
	} else {
		_, calls := r.open(t)
		for i := range calls {
			r.commit(i, chat.ToolUnknown)
		}
		if status == chat.TurnFailed {
			r.append(t, t.Steps+1, chat.Message{Role: chat.RoleAssistant, Marker: chat.MarkerError})
		}
	}
	t.Status = status
	r.bump(t)
}

func (r *fakeRecord) take() []live.Progress {
	p := r.progress
	r.progress = nil
	return p
}

// changes is store.Changes.
func (r *fakeRecord) changes(c store.Cursor) store.Changes {
	out := store.Changes{Next: c}
	for _, row := range r.rows {
		if row.Seq > c.Seq && len(out.Rows) < r.page {
			out.Rows = append(out.Rows, row)
			out.Next.Seq = row.Seq
		}
	}
	if len(out.Rows) == r.page {
		return out
	}
	changed := map[string]bool{}
	for _, t := range r.turns {
		if t.Rev > c.Rev {
			out.Turns = append(out.Turns, t)
			out.Next.Rev = max(out.Next.Rev, t.Rev)
		}
		changed[t.ID] = t.Rev > c.Rev || t.Status == chat.TurnRunning
	}
	slices.SortFunc(out.Turns, func(a, b store.Turn) int { return int(a.Rev - b.Rev) })
	for _, x := range r.tools {
		if changed[x.TurnID] && (x.TurnID != c.Turn || x.Step > c.Step) {
			out.Tools = append(out.Tools, x)
		}
	}
	if t := r.first(chat.TurnRunning); t != nil {
		out.Next.Turn, out.Next.Step = t.ID, t.Steps-1
	}
	return out
}

// attach is store.Attach.
func (r *fakeRecord) attach(fromSeq *int64) store.Attached {
	a := store.Attached{Session: store.Session{ID: "s", LastSeq: int64(len(r.rows))}}
	a.Cursor = store.Cursor{Seq: a.Session.LastSeq, Rev: r.rev}
	if fromSeq != nil {
		a.Cursor.Seq = *fromSeq
	}
	if a.Cursor.Seq > 0 {
		a.LastTurn = r.rows[a.Cursor.Seq-1].TurnID
	}
	for _, t := range r.turns {
		last := int64(0)
		for _, row := range r.rows {
			if row.TurnID == t.ID {
				last = row.Seq
			}
		}
		if !t.Status.Final() || fromSeq != nil && last >= *fromSeq {
			a.Turns = append(a.Turns, t)
		}
	}
	slices.SortFunc(a.Turns, func(x, y store.Turn) int { return int(x.Rev - y.Rev) })
	if t := r.first(chat.TurnRunning); t != nil {
		for _, row := range r.rows {
			if row.TurnID != t.ID || row.Seq > a.Cursor.Seq {
				continue
			}
			switch row.Role {
			case chat.RoleAssistant:
				a.Answered, a.Calls = row.Step, row.ToolCalls
			case chat.RoleTool:
				a.Closed = row.Step
			}
		}
		a.Cursor.Turn, a.Cursor.Step = t.ID, a.Closed
	}
	return a
}

func (r *fakeRecord) step(t *rapid.T) {
	switch rapid.IntRange(0, 11).Draw(t, "op") {
	case 0, 1:
		r.accept()
	case 2, 3:
		r.begin()
	case 4:
		r.answer(0)
	case 5, 6:
		r.answer(rapid.IntRange(1, 3).Draw(t, "calls"))
	case 7:
		r.claim(rapid.IntRange(0, 2).Draw(t, "pos"), rapid.Bool().Draw(t, "announce"))
	case 8, 9:
		r.commit(rapid.IntRange(0, 2).Draw(t, "pos"), rapid.SampledFrom([]chat.ToolStatus{chat.ToolCompleted, chat.ToolFailed}).Draw(t, "status"))
	case 10:
		r.delta(rapid.IntRange(1, 2).Draw(t, "attempt"))
	case 11:
		r.finish(rapid.SampledFrom([]chat.TurnStatus{chat.TurnFailed, chat.TurnCancelled}).Draw(t, "end"))
	}
}

func summarizeTest(name, arguments string) string { return name + " " + arguments }

func TestFollowerKeepsItsOrderWhateverIsSkipped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &fakeRecord{page: rapid.SampledFrom([]int{1, 2, 5, 1000}).Draw(t, "page")}
		steps := func(label string, most int) {
			for range rapid.IntRange(0, most).Draw(t, label) {
				r.step(t)
			}
		}
		steps("before", 30)
		var fromSeq *int64
		if rapid.Bool().Draw(t, "replay") {
			n := rapid.Int64Range(0, int64(len(r.rows))).Draw(t, "from_seq")
			fromSeq = &n
		}
		r.take()
		attached := r.attach(fromSeq)
		f := newFollower(attached, summarizeTest)
		cursor := attached.Cursor
		var frames []protocol.ServerFrame
		read := func(progress []live.Progress) {
			for {
				ch := r.changes(cursor)
				frames = append(frames, f.feed(progress, ch)...)
				cursor, progress = ch.Next, nil
				if len(ch.Rows) == 0 {
					return
				}
			}
		}
		for range rapid.IntRange(1, 12).Draw(t, "reads") {
			steps("steps", 8)
			progress := r.take()
			steps("meanwhile", 3) // between taking progress and reading the record
			read(progress)
		}
		read(r.take())
		checkFrames(t, r, attached, frames)
	})
}

// checkFrames checks what a client may rely on, and that nothing is missing.
func checkFrames(t require.TestingT, r *fakeRecord, a store.Attached, frames []protocol.ServerFrame) {
	rank := map[string]int{protocol.TurnQueued: 1, protocol.TurnStarted: 2, protocol.TurnCompleted: 3, protocol.TurnFailed: 3, protocol.TurnCancelled: 3}
	status := map[string]string{}                  // by turn
	statuses := map[string][]string{}              // by turn
	present := map[string]bool{}                   // turns whose beginning was not seen
	tool := map[string]string{}                    // by call
	answered := map[string]int{}                   // by turn
	attempt := map[string]int{}                    // by turn and step
	resultSent := map[string]bool{}                // by call
	asked := map[string]bool{}                     // calls whose row was seen
	seq, newest := a.Cursor.Seq, a.Session.LastSeq // rows
	for _, turn := range a.Turns {
		present[turn.ID] = true
	}
	ended := func(turn string) bool { return rank[status[turn]] == 3 }
	for _, frame := range frames {
		switch m := frame.(type) {
		case protocol.Turn:
			require.Greater(t, rank[m.Status], rank[status[m.TurnID]], "%s of %s after %s", m.Status, m.TurnID, status[m.TurnID])
			status[m.TurnID] = m.Status
			statuses[m.TurnID] = append(statuses[m.TurnID], m.Status)
		case protocol.Message:
			require.Equal(t, seq+1, m.Seq, "rows without gaps")
			seq = m.Seq
			require.False(t, ended(m.TurnID), "row %d after the end of %s", m.Seq, m.TurnID)
			if m.Seq > newest {
				require.Equal(t, protocol.TurnStarted, status[m.TurnID], "row %d of %s", m.Seq, m.TurnID)
			}
			if m.Role == chat.RoleAssistant && m.Marker == "" {
				answered[m.TurnID] = r.rows[m.Seq-1].Step
				for _, c := range m.ToolCalls {
					asked[c.ID] = true
				}
			}
			if m.Role == chat.RoleTool {
				resultSent[m.ToolCallID] = true
			}
		case protocol.Tool:
			require.Equal(t, protocol.TurnStarted, status[m.TurnID], "tool %s", m.CallID)
			require.NotEmpty(t, m.Summary)
			if m.Status == "started" {
				require.Empty(t, tool[m.CallID], "%s started twice", m.CallID)
				require.False(t, resultSent[m.CallID], "%s started after its result", m.CallID)
			} else {
				require.Equal(t, "started", tool[m.CallID], "%s of %s", m.Status, m.CallID)
				require.True(t, r.page < 1000 || !resultSent[m.CallID], "%s of %s after its result", m.Status, m.CallID)
			}
			tool[m.CallID] = m.Status
		case protocol.Delta:
			require.Equal(t, protocol.TurnStarted, status[m.TurnID], "delta")
			require.Greater(t, m.Step, answered[m.TurnID], "delta after its row")
			key := fmt.Sprint(m.TurnID, m.Step)
			require.GreaterOrEqual(t, m.Attempt, attempt[key], "a replaced attempt")
			attempt[key] = m.Attempt
		}
	}
	require.EqualValues(t, len(r.rows), seq, "every row")
	for _, turn := range r.turns {
		want := []string{protocol.TurnQueued}
		if turn.StartedAt != 0 {
			want = append(want, protocol.TurnStarted)
		}
		if turn.Status.Final() {
			want = append(want, string(turn.Status))
		}
		got := statuses[turn.ID]
		switch {
		case present[turn.ID]:
			require.NotEmpty(t, got)
			require.Equal(t, want[len(want)-len(got):], got, turn.ID)
		case len(got) > 0:
			require.Equal(t, want, got, turn.ID)
		default:
			require.True(t, turn.Status.Final() && turn.Rev <= a.Cursor.Rev, "nothing was said of %s", turn.ID)
		}
	}
	for _, x := range r.tools {
		if r.page == 1000 && asked[x.CallID] && !present[x.TurnID] && statuses[x.TurnID] != nil {
			want := string(x.Status)
			if x.Status == chat.ToolClaimed {
				want = "started"
			}
			require.Equal(t, want, tool[x.CallID], "the news of %s", x.CallID)
		}
	}
}
