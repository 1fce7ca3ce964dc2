package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/protocol"
	"picobot/internal/text"
	"picobot/store"
)

// command says one and returns its answer. What comes of turns before it is passed over.
func (p *peer) command(id, content string) protocol.Command {
	p.t.Helper()
	p.say(id, content)
	acc := p.accepted()
	require.Equal(p.t, id, acc.ID)
	require.Empty(p.t, acc.TurnID)
	return expect[protocol.Command](p)
}

// welcomed passes over what comes before the next welcome.
func (p *peer) welcomed() protocol.Welcome {
	p.t.Helper()
	frames := p.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Welcome); return ok })
	return frames[len(frames)-1].(protocol.Welcome)
}

// said has a message answered in the session the peer is attached to.
func (r *rig) said(p *peer, id, content string) (session, turn string) {
	r.t.Helper()
	p.say(id, content)
	acc := p.accepted()
	turn = r.run(acc.SessionID, "re: "+content)
	require.Equal(r.t, acc.TurnID, turn)
	p.until(ends(turn))
	return acc.SessionID, turn
}

func dialog(t *testing.T, c protocol.Command) (d dialogJSON) {
	t.Helper()
	require.NoError(t, json.Unmarshal(c.Data, &d))
	return d
}

func TestNew_BeginsADialogThatTheChatIsInFromThenOn(t *testing.T) {
	r := newRig(t)
	p, first := r.connect(protocol.Hello{ChatID: "room"})
	r.said(p, "1", "hi")
	answer := p.command("n", "/new  A\ttrip \u202eto\n Rome ")
	require.Equal(t, protocol.Command{ID: "n", Name: "new", OK: true, Text: "New dialog: A trip to Rome", Data: answer.Data}, answer)
	w := expect[protocol.Welcome](p)
	require.Equal(t, "A trip to Rome", w.Title)
	require.NotEqual(t, first.SessionID, w.SessionID)
	require.Equal(t, w.SessionID, dialog(t, answer).SessionID)
	require.Equal(t, protocol.Notice{ID: "welcome/" + w.SessionID, Level: "info", Text: text.For("en").Say(text.Welcome{})}, p.next())

	session, _ := r.said(p, "2", "where?")
	require.Equal(t, w.SessionID, session)
	_, again := r.connect(protocol.Hello{ChatID: "room"})
	require.Equal(t, w.SessionID, again.SessionID, "the chat's active dialog, for whoever comes")
	require.Len(t, query(r, `SELECT id FROM sessions WHERE chat_id = 'room' AND active = 1`), 1)
	r.sound()
}

// Whoever repeats a command has not seen its answer: it must lead there again.
func TestNew_Redelivered_LeadsToTheSameDialogAgain(t *testing.T) {
	r := newRig(t)
	p, first := r.connect(protocol.Hello{ChatID: "room"})
	p.command("n", "/new Rome")
	w := p.welcomed()
	seq := first.LastSeq
	q, _ := r.connect(protocol.Hello{ChatID: "room", SessionID: first.SessionID, FromSeq: &seq, Follow: true})
	q.say("n", "/new Rome")
	require.True(t, q.accepted().Duplicate)
	require.Equal(t, "New dialog: Rome", expect[protocol.Command](q).Text)
	require.Equal(t, w.SessionID, q.welcomed().SessionID)
	require.Len(t, query(r, `SELECT id FROM sessions`), 2)
	session, _ := r.said(q, "1", "hi")
	require.Equal(t, w.SessionID, session)

	// Deleted since, it leads where the chat is.
	q.command("d", "/delete")
	home := q.welcomed()
	q.say("n", "/new Rome")
	require.True(t, q.accepted().Duplicate)
	require.Equal(t, home.SessionID, q.welcomed().SessionID)
	r.sound()
}

func TestUse_TakesANumberOfTheLastListADialogIdOrASessionId(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{ChatID: "room"})
	ids := []string{w.SessionID}
	for i := range 11 {
		p.command(fmt.Sprint("n", i), fmt.Sprint("/new d", i))
		ids = append(ids, p.welcomed().SessionID)
	}
	refused := p.command("u0", "/use 1")
	require.False(t, refused.OK, "no list was shown yet")
	require.Equal(t, "There is no dialog 1. /sessions lists them.", refused.Text)

	list := p.command("l", "/sessions")
	lines := strings.Split(list.Text, "\n")
	require.Len(t, lines, 1+10+1)
	require.Contains(t, lines[1], "1. d10 (")
	require.Contains(t, lines[1], "0 messages) <- here")
	require.Contains(t, lines[10], "10. d1 (")

	third := p.command("u1", "/use 3")
	require.Equal(t, "This is now the dialog: d8", third.Text)
	require.Equal(t, ids[9], p.welcomed().SessionID)
	require.Equal(t, "This is now the dialog: d10", p.command("u2", "/use 1").Text, "the numbers stay those that were shown")
	p.welcomed()
	key, err := chat.ParseSessionID(ids[0])
	require.NoError(t, err)
	require.Equal(t, "This is now the dialog: New dialog", p.command("u3", "/switch "+strings.ToLower(key.DialogID)).Text)
	require.Equal(t, ids[0], p.welcomed().SessionID)
	p.command("u4", "/use "+ids[5])
	require.Equal(t, ids[5], p.welcomed().SessionID)
	for i, name := range []string{"0", "11", "-1", "99999999999999999999", "nope", "cli:room:nope", "cli:other:" + key.DialogID} {
		got := p.command(fmt.Sprint("bad", i), "/use "+name)
		require.False(t, got.OK, name)
	}
	require.Equal(t, "Write it like this: /use N|ID", p.command("none too", "/use").Text)
	require.Equal(t, "Write it like this: /switch DIALOG_ID", p.command("none", "/switch").Text)
	require.Empty(t, words(p.settled()), "a command that fails leads nowhere")
	_, now := r.connect(protocol.Hello{ChatID: "room"})
	require.Equal(t, ids[5], now.SessionID)
	r.sound()
}

func TestUse_OfAnotherChatsDialogOrOneThatWasDeleted_IsRefused(t *testing.T) {
	r := newRig(t)
	_, other := r.connect(protocol.Hello{ChatID: "other"})
	p, w := r.connect(protocol.Hello{ChatID: "room"})
	p.command("n", "/new b")
	p.welcomed()
	p.command("l", "/sessions")
	p.command("d", "/delete")
	require.Equal(t, w.SessionID, p.welcomed().SessionID)
	require.False(t, p.command("1", "/use "+other.SessionID).OK)
	require.False(t, p.command("2", "/use 1").OK, "it is what was deleted")
	require.True(t, p.command("3", "/use 2").OK)
	require.Equal(t, w.SessionID, p.welcomed().SessionID)
}

func TestReset_EndsWhatRunsAndWaits_AndTheNextRequestHoldsNothingOld(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	r.said(p, "1", "old")
	p.say("2", "work")
	running := p.accepted().TurnID
	r.begin(w.SessionID)
	ls := chat.NewToolCall("c1", "bash", "{}")
	r.answer(running, 1, "let me see", ls)
	r.claim(running, 1, 0, ls)
	p.say("3", "and then")
	waiting := p.accepted().TurnID
	require.Equal(t, text.For("en").Say(text.DialogReset{}), p.command("r", "/reset").Text)
	p.until(ends(waiting))
	_, cancels := r.told.calls()
	require.Equal(t, []string{running}, cancels, "work is stopped once the record says so")
	for _, id := range []string{running, waiting} {
		turn, err := r.record.Turn(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, chat.TurnCancelled, turn.Status)
	}
	// What the stopped work brings is discarded.
	late := r.toolRun(running, 1, 0, ls)
	late.Status, late.Result = chat.ToolCompleted, "a b"
	_, err := r.record.CommitTool(t.Context(), late)
	require.ErrorIs(t, err, store.ErrTurnEnded)

	p.say("4", "new")
	fresh := p.accepted().TurnID
	r.begin(w.SessionID)
	c, err := r.record.TurnContext(t.Context(), fresh, func(store.Session) int { return 1 << 20 })
	require.NoError(t, err)
	var contents []string
	for _, row := range c.Rows {
		contents = append(contents, row.Content)
	}
	require.Equal(t, []string{"be kind", "new"}, contents)
	r.sound()

	p.say("r", "/reset")
	require.True(t, p.accepted().Duplicate)
	turn, err := r.record.Turn(t.Context(), fresh)
	require.NoError(t, err)
	require.Equal(t, chat.TurnRunning, turn.Status, "a repeated reset ends nothing later")
}

func TestDelete_LeadsToTheMostRecentOtherDialog_OrANewOne(t *testing.T) {
	r := newRig(t)
	p, a := r.connect(protocol.Hello{ChatID: "room"})
	r.said(p, "1", "in a")
	p.command("n", "/new b")
	b := p.welcomed()
	p.command("n2", "/new c")
	c := p.welcomed()
	p.command("u", "/use "+a.SessionID)
	p.welcomed()
	p.say("2", "work")
	turn := p.accepted().TurnID
	r.begin(a.SessionID)

	answer := p.command("d", "/delete")
	require.Equal(t, "Deleted: New dialog. This is now the dialog: c", answer.Text)
	frames := p.until(func(f protocol.ServerFrame) bool { _, ok := f.(protocol.Welcome); return ok })
	require.Equal(t, c.SessionID, frames[len(frames)-1].(protocol.Welcome).SessionID)
	require.Contains(t, words(frames), "cancelled", "the end of what ran is told before")
	_, cancels := r.told.calls()
	require.Equal(t, []string{turn}, cancels)
	_, _, err := r.record.OpenChat(t.Context(), store.NewSession{Channel: "cli", ChatID: "room"})
	require.NoError(t, err)

	p.command("d2", "/delete")
	require.Equal(t, b.SessionID, p.welcomed().SessionID)
	p.command("d3", "/delete")
	fresh := p.welcomed()
	require.NotContains(t, []string{a.SessionID, b.SessionID, c.SessionID}, fresh.SessionID)
	require.Equal(t, "info", p.next().(protocol.Notice).Level, "it is a new one")
	session, _ := r.said(p, "3", "hello")
	require.Equal(t, fresh.SessionID, session)

	q := r.dial()
	q.send(protocol.Hello{ClientID: "q", ChatID: "room", SessionID: a.SessionID})
	q.error(protocol.CodeNotFound)
	require.Len(t, query(r, `SELECT id FROM sessions WHERE deleted_at IS NOT NULL`), 3, "soft: the rows are still there")
	require.NotEmpty(t, query(r, `SELECT id FROM messages WHERE session_id = ?`, a.SessionID))
	r.sound()
}

func TestMove_WhoElseIsInTheChat_StaysAndIsToldOnce(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{ChatID: "room"})
	other, _ := r.connect(protocol.Hello{ChatID: "room", Locale: "zh-CN"})
	stranger, _ := r.connect(protocol.Hello{ChatID: "another room"})
	r.said(p, "1", "hi")
	r.said(stranger, "1", "hi")
	told := func() protocol.Notice {
		t.Helper()
		frames := other.until(func(f protocol.ServerFrame) bool {
			n, ok := f.(protocol.Notice)
			return ok && strings.HasPrefix(n.ID, "moved/")
		})
		return frames[len(frames)-1].(protocol.Notice)
	}
	p.command("n", "/new Plans")
	plans := p.welcomed()
	notice := told()
	require.Equal(t, "info", notice.Level)
	dialog := plans.SessionID[strings.LastIndexByte(plans.SessionID, ':')+1:]
	require.Equal(t, text.For("zh-CN").Say(text.ChatMoved{Title: "Plans", Here: "未命名的对话", DialogID: dialog}), notice.Text)

	for _, f := range p.settled() {
		require.NotContains(t, fmt.Sprint(f), "moved/", "whoever moved it knows")
	}
	// Again it is no news; and who is there already is told nothing.
	p.command("n", "/new Plans")
	require.Equal(t, plans.SessionID, p.welcomed().SessionID)
	other.command("u", "/use "+dialog)
	other.welcomed()
	p.command("b", "/use "+w.SessionID)
	p.welcomed()
	require.Contains(t, told().Text, "“未命名的对话”。这里仍是“Plans”")
	session, _ := r.said(other, "2", "still here")
	require.Equal(t, plans.SessionID, session)
	for _, f := range stranger.settled() {
		require.NotContains(t, fmt.Sprint(f), "moved/")
	}
}

func TestDelete_WhoElseFollowedTheDialog_IsLedOn(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{ChatID: "room"})
	follows, _ := r.connect(protocol.Hello{ChatID: "room"})
	stays, _ := r.connect(protocol.Hello{ChatID: "room", SessionID: w.SessionID})
	r.said(p, "1", "hi")
	p.command("d", "/delete")
	next := p.welcomed()
	require.Equal(t, next.SessionID, follows.welcomed().SessionID)
	session, _ := r.said(follows, "2", "still here")
	require.Equal(t, next.SessionID, session)

	stays.say("3", "and I?")
	stays.until(func(f protocol.ServerFrame) bool {
		e, ok := f.(protocol.Error)
		return ok && e.Code == protocol.CodeReadOnly
	})
	for i, content := range []string{"/rename x", "/reset", "/delete", "/agent default", "/compact"} {
		got := stays.command(fmt.Sprint("s", i), content)
		require.False(t, got.OK, content)
		require.Equal(t, text.For("en").Say(text.SessionReadOnly{}), got.Text)
	}
	require.Contains(t, stays.command("i", "/info").Text, w.SessionID)
	require.True(t, stays.command("u", "/use "+next.SessionID).OK, "there is a way out")
	require.Equal(t, next.SessionID, stays.welcomed().SessionID)
	r.sound()
}

func TestRename_MakesOneBoundedLine(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{})
	require.Equal(t, "This dialog is now called: 去 罗马", p.command("1", "/rename  去\t\r\n罗马\u0007 ").Text)
	require.Equal(t, []string{"去 罗马|1"}, query(r, `SELECT title || '|' || titled FROM sessions WHERE id = ?`, w.SessionID))
	p.command("2", "/rename "+strings.Repeat("长", 5000))
	stored := query(r, `SELECT title FROM sessions WHERE id = ?`, w.SessionID)[0]
	require.Len(t, []rune(stored), maxTitle)
	empty := p.command("3", "/rename \u202e\u200f ")
	require.False(t, empty.OK)
	require.Equal(t, "Write it like this: /rename TITLE", empty.Text)
	require.Equal(t, stored, query(r, `SELECT title FROM sessions WHERE id = ?`, w.SessionID)[0])
	_, again := r.connect(protocol.Hello{})
	require.Equal(t, stored, again.Title)
}

func TestInfo_TellsInWordsAndInData(t *testing.T) {
	r := newRig(t, func(o *Options, _ *Deps) { o.UI = flow.UI{URL: "http://ui", Namespace: "default"} })
	p, w := r.connect(protocol.Hello{})
	require.NotContains(t, p.command("0", "/info").Text, "Workflow", "nothing has run that could be looked at")
	r.said(p, "1", "hi")
	got := p.command("i", "/info")
	for _, want := range []string{"Title: New dialog", "Session: " + w.SessionID, "Agent: default", "Model: main", "Messages of yours: 1",
		"All rows: 4", "Tokens used: 10 in, 2 out", "Workflow: http://ui/namespaces/default/workflows/w/r/history", "Created: 2"} {
		require.Contains(t, got.Text, want)
	}
	var data infoJSON
	require.NoError(t, json.Unmarshal(got.Data, &data))
	require.Equal(t, w.SessionID, data.ID)
	require.Equal(t, chat.Usage{PromptTokens: 10, CompletionTokens: 2}, data.Usage)
}

func agentsRig(t *testing.T) *rig {
	return newRig(t, func(o *Options, d *Deps) {
		o.Agents = []string{"coder", "default"}
		d.Model = func(agent string) Model { return Model{Name: "model of " + agent} }
	})
}

func TestAgent_AppliesFromTheNextTurnOnAndToNewDialogs(t *testing.T) {
	r := agentsRig(t)
	p, w := r.connect(protocol.Hello{})
	require.Equal(t, "This dialog uses the agent default. The agents are: coder, default", p.command("a", "/agent").Text)
	p.say("1", "work")
	turn := p.accepted().TurnID
	r.begin(w.SessionID)
	require.Equal(t, "This dialog uses the agent coder (model model of coder) from the next message on.", p.command("b", "/agent coder").Text)
	unknown := p.command("c", "/agent Coder")
	require.False(t, unknown.OK)
	require.Equal(t, "There is no agent Coder. The agents are: coder, default", unknown.Text)
	agentOf := func(turn string) string {
		c, err := r.record.TurnContext(t.Context(), turn, func(store.Session) int { return 1 << 20 })
		require.NoError(t, err)
		return c.Session.Agent
	}
	require.Equal(t, "default", agentOf(turn), "the running turn keeps its agent")
	r.answer(turn, 1, "done")
	p.until(ends(turn))
	_, next := r.said(p, "2", "more")
	require.Equal(t, "coder", agentOf(next))
	p.command("n", "/new")
	require.Equal(t, "model of coder", p.welcomed().Model)
	_, again := r.connect(protocol.Hello{})
	require.Equal(t, "model of coder", again.Model)
}

func TestHelloAgent_IsForTheSessionItCreates(t *testing.T) {
	r := agentsRig(t)
	p := r.dial()
	p.send(protocol.Hello{ClientID: "me", Agent: "nope"})
	require.Equal(t, `there is no agent "nope": the configuration has coder, default`, p.error(protocol.CodeNotFound).Message)
	p.send(protocol.Hello{ClientID: "me", Agent: "coder"})
	require.Equal(t, "model of coder", expect[protocol.Welcome](p).Model)
	require.Equal(t, "info", p.next().(protocol.Notice).Level)
	require.Empty(t, p.settled())

	q, w := r.connect(protocol.Hello{ClientID: "me", Agent: "default"})
	require.Equal(t, "model of coder", w.Model)
	kept := q.next().(protocol.Notice)
	require.Equal(t, "warn", kept.Level)
	require.Equal(t, text.For("en").Say(text.AgentKept{Name: "coder", Wanted: "default"}), kept.Text)
	q.command("n", "/new")
	require.Equal(t, "model of default", q.welcomed().Model)
}

// An operator looks at a Feishu chat: nothing of it is changed, and /use leads home.
func TestCommandsInAnotherChannelsSession_ChangeNothingThere(t *testing.T) {
	r := agentsRig(t)
	got, err := r.record.Accept(t.Context(), store.Inbound{Channel: "feishu", ChatID: "oc_1", ExternalID: "m1", SenderID: "u", Content: "hi"})
	require.NoError(t, err)
	_, home := r.connect(protocol.Hello{ChatID: "room"})
	p, _ := r.connect(protocol.Hello{ChatID: "room", SessionID: got.SessionID})
	before := query(r, `SELECT title || agent || active || reset_cutoff_seq || coalesce(deleted_at, '') FROM sessions WHERE id = ?`, got.SessionID)
	for i, content := range []string{"/rename x", "/reset", "/delete", "/agent coder", "/compact"} {
		c := p.command(fmt.Sprint(i), content)
		require.False(t, c.OK, content)
		require.Equal(t, text.For("en").Say(text.SessionReadOnly{}), c.Text)
	}
	require.Contains(t, p.command("i", "/info").Text, got.SessionID)
	require.NotContains(t, p.command("l", "/sessions").Text, "feishu")
	require.True(t, p.command("u", "/use 1").OK)
	require.Equal(t, home.SessionID, p.welcomed().SessionID)
	p2, _ := r.connect(protocol.Hello{ChatID: "room", SessionID: got.SessionID})
	p2.command("n", "/new mine")
	require.Contains(t, p2.welcomed().SessionID, "cli:room:")
	require.Equal(t, before, query(r, `SELECT title || agent || active || reset_cutoff_seq || coalesce(deleted_at, '') FROM sessions WHERE id = ?`, got.SessionID))
	require.Len(t, query(r, `SELECT id FROM sessions WHERE channel = 'feishu'`), 1)
	r.sound()
}

// Where nobody can be answered on the spot, the same words go through the outbox.
func TestDialogCommands_OfAChannelWithoutASocket_AreAnsweredThroughTheOutbox(t *testing.T) {
	r := newRig(t)
	zh := text.For("zh-CN")
	say := func(id, content string) store.Accepted {
		t.Helper()
		got, err := r.server.runCommand(t.Context(), store.Inbound{Channel: "feishu", ChatID: "oc_1", ExternalID: id, SenderID: "u", Content: content,
			New: store.NewSession{Title: zh.Say(text.DefaultTitle{}), Welcome: zh.Say(text.Welcome{})}}, zh)
		require.NoError(t, err)
		return got
	}
	first := say("1", "/new 旅行")
	require.Equal(t, "新对话：旅行", first.Command.Text)
	require.Equal(t, first.Command.Text, say("1", "/new 旅行").Command.Text)
	list := say("2", "/sessions")
	require.Contains(t, list.Command.Text, "1. 旅行")
	require.Contains(t, list.Command.Text, "2. 新对话")
	require.Equal(t, "已切换到对话：新对话", say("3", "/use 2").Command.Text)
	m, err := r.record.Accept(t.Context(), store.Inbound{Channel: "feishu", ChatID: "oc_1", ExternalID: "m", SenderID: "u", Content: "hi"})
	require.NoError(t, err)
	require.Equal(t, say("4", "/info").SessionID, m.SessionID)
	require.NotEqual(t, first.Command.SessionID, m.SessionID)
	pending, err := r.record.PendingOutbound(t.Context(), "feishu", "oc_1")
	require.NoError(t, err)
	require.Len(t, pending, 4)
	r.sound()
}

func TestWelcome_IsARowThatIsNotCountedAsSaidAndComesOnce(t *testing.T) {
	r := newRig(t)
	p, w := r.connect(protocol.Hello{Locale: "zh-CN"})
	require.Equal(t, "新对话", w.Title)
	greeting := p.next().(protocol.Notice)
	require.Equal(t, text.For("zh-CN").Say(text.Welcome{}), greeting.Text)
	require.Equal(t, []string{"1|system|welcome|" + greeting.Text}, query(r, `SELECT seq || '|' || role || '|' || marker || '|' || content FROM messages`))
	require.Equal(t, []string{"0|1"}, query(r, `SELECT message_count || '|' || total_message_count FROM sessions`))
	seq := w.LastSeq
	again, _ := r.connect(protocol.Hello{SessionID: w.SessionID, FromSeq: &seq, Follow: true})
	require.Empty(t, again.settled(), "a reconnect is not greeted again")
	zero := int64(0)
	all, _ := r.connect(protocol.Hello{SessionID: w.SessionID, FromSeq: &zero})
	require.Equal(t, greeting, all.next(), "who asks for everything gets it, under the same id")
	r.said(p, "1", "hi")
	late, _ := r.connect(protocol.Hello{SessionID: w.SessionID, FromSeq: &zero})
	require.Equal(t, []string{"user hi", "assistant re: hi", "completed"}, words(late.settled()))
}
