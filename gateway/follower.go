package gateway

import (
	"slices"

	"picobot/internal/chat"
	"picobot/internal/live"
	"picobot/internal/protocol"
	"picobot/internal/text"
	"picobot/store"
)

// follower turns what is read of one session into frames, in an order a client can
// rely on whatever was skipped between two reads:
//
//   - a turn is queued, then started, then has its rows, then ends;
//   - rows come in seq order, each once;
//   - a tool call is started once, after the row that asks for it, and ends before
//     the row with its result (after it only when one read could not tell both);
//   - deltas of a step come before its row, or not at all.
//
// It is fed with progress and with the changes that were read after it, and it is
// pure: no clock, no I/O.
type follower struct {
	session   string
	summarize func(name, arguments string) string
	words     *text.Catalogue // in the language of the client
	since     int64           // seq of the newest row when the follower was made
	turns     map[string]*followed
	order     []string // of turns, as they became known
	last      string   // turn of the last row that the client has
	pending   []live.Progress
	out       []protocol.ServerFrame
}

// followed is a turn whose end the client has not been told.
type followed struct {
	turn     store.Turn
	told     string // last status sent; "" = none
	begun    bool   // it is running, or was
	answered int    // last step whose answer row was sent
	closed   int    // last step whose tool rows were sent: its tools are no news any more
	calls    []chat.ToolCall
	tools    map[place]*followedTool
	attempt  place // newest (step, attempt) of a delta
}

// place is a call's step and position, or a delta's step and attempt.
type place struct{ step, pos int }

func (p place) compare(o place) int {
	if p.step != o.step {
		return p.step - o.step
	}
	return p.pos - o.pos
}

type followedTool struct {
	callID, name, summary string
	status                chat.ToolStatus
	started, ended        bool // was said
}

func newFollower(a store.Attached, summarize func(name, arguments string) string) *follower {
	f := &follower{session: a.Session.ID, summarize: summarize, words: text.For(""), since: a.Session.LastSeq, turns: map[string]*followed{}, last: a.LastTurn}
	for _, t := range a.Turns {
		st := f.follow(t.ID)
		st.turn = t
		// What a client is told of a turn that was there before is its present state only.
		switch {
		case t.Status == chat.TurnRunning:
			st.told, st.begun = protocol.TurnQueued, true
			st.answered, st.closed, st.calls = a.Answered, a.Closed, a.Calls
		case t.Status.Final():
			st.told = protocol.TurnStarted
		}
	}
	return f
}

func (f *follower) follow(turnID string) *followed {
	st := &followed{turn: store.Turn{ID: turnID, SessionID: f.session}, tools: map[place]*followedTool{}}
	f.turns[turnID] = st
	f.order = append(f.order, turnID)
	return st
}

// present returns the state of a turn as the client knows it; ok is false for a
// turn that is not followed (any more).
func (f *follower) present(turnID string) (frame protocol.Turn, ok bool) {
	st := f.turns[turnID]
	if st == nil || st.told == "" {
		return protocol.Turn{}, false
	}
	return protocol.Turn{TurnID: turnID, SessionID: f.session, Status: st.told, Steps: st.turn.Steps}, true
}

// feed takes progress and the changes that were read after it, and returns the
// frames they amount to.
func (f *follower) feed(progress []live.Progress, ch store.Changes) []protocol.ServerFrame {
	f.out = nil
	f.pending = append(f.pending, progress...)
	f.learn(ch)
	for _, r := range ch.Rows {
		f.row(r)
	}
	// Changes tells of turns only once it has told every row; without them, and with
	// rows, there may be more rows.
	if len(ch.Rows) == 0 || len(ch.Turns) > 0 || len(ch.Tools) > 0 {
		f.settle()
	}
	return f.out
}

// learn takes in the states of turns and tools.
func (f *follower) learn(ch store.Changes) {
	for _, t := range ch.Turns {
		st := f.turns[t.ID]
		if st == nil {
			st = f.follow(t.ID)
		}
		st.turn = t
		st.begun = st.begun || t.StartedAt != 0
	}
	for _, r := range ch.Tools {
		st := f.turns[r.TurnID]
		if st == nil {
			continue
		}
		tool := st.tool(place{r.Step, r.Position})
		tool.callID, tool.name = r.CallID, r.Name
		tool.status = r.Status
	}
}

func (st *followed) tool(p place) *followedTool {
	t := st.tools[p]
	if t == nil {
		t = &followedTool{status: chat.ToolClaimed}
		st.tools[p] = t
	}
	return t
}

// row sends a row after everything that comes before it.
func (f *follower) row(r store.Row) {
	if f.last != r.TurnID {
		// Turns of a session run one after the other: the one before has had its last row.
		if st := f.turns[f.last]; st != nil {
			f.end(st)
		}
		f.last = r.TurnID
	}
	st := f.turns[r.TurnID]
	if st == nil && r.TurnID != "" && r.Seq > f.since {
		// More has happened than one read tells: its states come with a later one.
		st = f.follow(r.TurnID)
	}
	if st != nil {
		f.begin(st)
		switch {
		case r.Role == chat.RoleAssistant && r.Marker == "":
			f.deltas(st, r.Step)
			st.answered, st.calls = r.Step, r.ToolCalls
		case r.Role == chat.RoleTool && r.Step > st.closed:
			f.tools(st, r.Step)
			st.closed = r.Step
		}
	}
	f.out = append(f.out, RowFrame(r))
}

// begin says that a turn is queued and started, where that was not said.
func (f *follower) begin(st *followed) {
	st.begun = true
	f.say(st, protocol.TurnQueued)
	f.say(st, protocol.TurnStarted)
}

// say sends queued or started, unless that or what comes after it was said before.
func (f *follower) say(st *followed, status string) {
	if st.told == status || st.told == protocol.TurnStarted {
		return
	}
	st.told = status
	f.out = append(f.out, protocol.Turn{TurnID: st.turn.ID, SessionID: st.turn.SessionID, Status: status})
}

// settle sends what is known beyond the rows.
func (f *follower) settle() {
	for _, id := range slices.Clone(f.order) {
		st := f.turns[id]
		if st == nil {
			continue
		}
		f.say(st, protocol.TurnQueued)
		if st.begun {
			f.say(st, protocol.TurnStarted)
			f.tools(st, st.answered)
			f.deltas(st, st.answered+1)
		}
		f.end(st)
	}
	// What is left belongs to turns that have ended or to rows that were sent.
	f.pending = nil
}

// end sends a turn's end, if it has come, and forgets the turn.
func (f *follower) end(st *followed) {
	if !st.turn.Status.Final() {
		return
	}
	f.say(st, protocol.TurnQueued)
	if st.begun {
		f.say(st, protocol.TurnStarted)
		f.tools(st, st.answered)
	}
	f.out = append(f.out, turnFrame(st.turn))
	delete(f.turns, st.turn.ID)
	f.order = slices.DeleteFunc(f.order, func(id string) bool { return id == st.turn.ID })
}

// tools sends the news of a turn's tools up to and including a step: first what
// has started, then what has ended, each in call order.
func (f *follower) tools(st *followed, upto int) {
	for _, p := range f.pending {
		if p.TurnID != st.turn.ID || p.Tool == nil || p.Step > upto || p.Step <= st.closed {
			continue
		}
		t := st.tool(place{p.Step, p.Tool.Position})
		t.callID, t.name, t.summary = p.Tool.CallID, p.Tool.Name, p.Tool.Summary
	}
	var places []place
	for p := range st.tools {
		if p.step <= upto {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, place.compare)
	for _, p := range places {
		if t := st.tools[p]; !t.started && p.step > st.closed {
			if t.summary == "" {
				t.summary = f.summary(st, p, t.name)
			}
			t.started = true
			f.out = append(f.out, t.frame(st.turn.ID, p.step, "started"))
		}
	}
	for _, p := range places {
		if t := st.tools[p]; t.started && !t.ended && t.status.Final() {
			t.ended = true
			f.out = append(f.out, t.frame(st.turn.ID, p.step, string(t.status)))
		}
		if p.step < upto {
			delete(st.tools, p) // later steps have begun
		}
	}
}

func (f *follower) summary(st *followed, p place, name string) string {
	if p.step == st.answered && p.pos < len(st.calls) {
		return f.summarize(name, st.calls[p.pos].Function.Arguments)
	}
	return name
}

func (t *followedTool) frame(turnID string, step int, status string) protocol.Tool {
	return protocol.Tool{TurnID: turnID, Step: step, CallID: t.callID, Name: t.name, Status: status, Summary: t.summary}
}

// deltas sends the pending deltas of a turn up to and including a step, and the
// notices between them, and drops those of steps that have been answered or of
// attempts that were replaced.
func (f *follower) deltas(st *followed, upto int) {
	f.pending = slices.DeleteFunc(f.pending, func(p live.Progress) bool {
		if p.TurnID != st.turn.ID || p.Tool != nil || p.Step > upto {
			return false
		}
		at := place{p.Step, p.Attempt}
		if p.Step > st.answered && at.compare(st.attempt) >= 0 {
			st.attempt = at
			if p.Notice != nil {
				f.out = append(f.out, protocol.Notice{ID: p.Notice.ID, Level: "warn", Text: p.Notice.In(f.words)})
				return true
			}
			f.out = append(f.out, protocol.Delta{TurnID: p.TurnID, Step: p.Step, Attempt: p.Attempt, Kind: string(p.Kind), Text: p.Text})
		}
		return true
	})
}

// RowFrame is a row as clients see it: of its reasoning what people can read.
func RowFrame(r store.Row) protocol.Message {
	return protocol.Message{
		SessionID: r.SessionID, Seq: r.Seq, TurnID: r.TurnID, Role: r.Role, Content: r.Content, ReasoningContent: chat.ReasoningText(r.ReasoningContent),
		ToolCalls: r.ToolCalls, ToolCallID: r.ToolCallID, ToolName: r.ToolName, Media: r.Media, Marker: r.Marker, CreatedAt: r.CreatedAt,
	}
}

// turnFrame tells a turn's present state.
func turnFrame(t store.Turn) protocol.Turn {
	f := protocol.Turn{TurnID: t.ID, SessionID: t.SessionID, Status: string(t.Status), Steps: t.Steps}
	switch {
	case t.Status == chat.TurnRunning:
		f.Status = protocol.TurnStarted
	case t.Status == chat.TurnFailed:
		f.Error = &protocol.Problem{Code: t.ErrorCode, Message: t.Error}
	}
	if t.Status.Final() {
		f.Usage = &t.Usage
	}
	return f
}
