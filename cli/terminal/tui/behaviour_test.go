package tui

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"picobot/cli/client"
	"picobot/internal/chat"
	"picobot/internal/protocol"
)

// effects are what a message makes a conversation want.
func (r *rig) effects(msg any) []effect {
	var todo []effect
	r.shell.model, todo = r.shell.model.Update(msg, r.now)
	return todo
}

func leaves(todo []effect) bool {
	for _, e := range todo {
		if _, ok := e.(leave); ok {
			return true
		}
	}
	return false
}

func TestAnswer_HoweverItComes_IsShownOnce(t *testing.T) {
	call := reply("t", "let me see")
	call.ToolCalls = []chat.ToolCall{chat.NewToolCall("c", "bash", "{}")}
	again := piece("t", "right\n\nand more\n\nend")
	again.Attempt = 2
	for name, c := range map[string]struct {
		said []protocol.ServerFrame
		want string // the lines that are not empty, "|" between them
	}{
		"streamed":         {[]protocol.ServerFrame{piece("t", "hel"), piece("t", "lo"), reply("t", "hello")}, "hello"},
		"streamed in part": {[]protocol.ServerFrame{piece("t", "one\n\ntw"), reply("t", "one\n\ntwo")}, "one|two"},
		"not streamed":     {[]protocol.ServerFrame{reply("t", "hello")}, "hello"},
		"begun again before anything was over": {[]protocol.ServerFrame{
			piece("t", "wro"), again, piece("t", "late, of the first attempt"), reply("t", "right\n\nand more\n\nend"),
		}, "right|and more|end"},
		"begun again after a paragraph": {[]protocol.ServerFrame{
			piece("t", "wrong\n\nmo"), again, reply("t", "right\n\nand more\n\nend"),
		}, "wrong|(the answer begins again)|right|and more|end"},
		"streamed with a piece missing": {[]protocol.ServerFrame{
			piece("t", "lost a\n\npiece"), reply("t", "the whole\n\nof it"),
		}, "lost a|(the answer begins again)|the whole|of it"},
		"with tools": {[]protocol.ServerFrame{
			piece("t", "let me see"), call, tool("t", "c", "started", "bash: ls\n -l"), tool("t", "c", "unknown", "bash: ls\n -l"),
			result("t", "c", "Unknown outcome: gone"),
			protocol.Delta{TurnID: "t", Step: 2, Attempt: 1, Kind: "text", Text: "done"}, reply("t", "done"),
		}, "let me see|? bash: ls -l: outcome unknown  0s|done"},
		"with tools whose frames did not come": {[]protocol.ServerFrame{
			call, result("t", "c", "Error: no"), tool("t", "c", "started", "bash: late"), reply("t", "done"),
		}, "let me see|✗ bash: {}: failed|done"},
		"said elsewhere": {[]protocol.ServerFrame{user("u", "from the other window")}, "> from the other window"},
		"sent from outside, which came as a notice": {[]protocol.ServerFrame{
			protocol.Message{TurnID: "t", Role: chat.RoleAssistant, Content: "reminder", Marker: chat.MarkerOutbound},
			protocol.Notice{ID: "1", Level: "message", Text: "**reminder**", JobID: "j"},
		}, "◆ reminder"},
		"cancelled while it was written": {[]protocol.ServerFrame{
			started("t"), piece("t", "half of"), protocol.Turn{TurnID: "t", SessionID: session, Status: protocol.TurnCancelled},
		}, "half of|the turn was cancelled"},
		"cancelled while a tool runs": {[]protocol.ServerFrame{
			started("t"), tool("t", "c", "started", "bash: sleep"), protocol.Turn{TurnID: "t", SessionID: session, Status: protocol.TurnCancelled},
		}, "✗ bash: sleep: stopped  0s|the turn was cancelled"},
		"of a turn that failed before this conversation": {[]protocol.ServerFrame{
			protocol.Turn{TurnID: "old", SessionID: session, Status: protocol.TurnFailed, Error: &protocol.Problem{Message: "old"}},
		}, ""},
	} {
		r := newRig(t, 60, 30)
		r.does(welcome())
		from := r.shell.model.Blocks()
		for _, f := range c.said {
			r.does(f)
		}
		var got []string
		for _, l := range r.shell.model.Final(from) {
			if l = strings.ReplaceAll(stripped(l), "\t", " "); l != "" {
				got = append(got, l)
			}
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s:\n got %q\nwant %q", name, strings.Join(got, "|"), c.want)
		}
		for _, l := range strings.Split(c.want, "|") {
			if l != "" && r.count(strings.TrimPrefix(l, "> ")) != 1 {
				t.Errorf("%s: %q is on the terminal %d times:\n%s", name, l, r.count(l), strings.Join(r.lines(), "\n"))
			}
		}
	}
}

func stripped(s string) string {
	var out strings.Builder
	for i, part := range strings.Split(s, "\x1b[") {
		if i > 0 {
			_, part, _ = strings.Cut(part, "m")
		}
		out.WriteString(part)
	}
	return out.String()
}

func TestTurn_ThatFails_SaysWhyOnce(t *testing.T) {
	r := newRig(t, 60, 30)
	why := reply("t", "The account has no credit.")
	why.Marker = chat.MarkerError
	r.does(welcome(), protocol.Accepted{ID: "1", TurnID: "t"}, why,
		protocol.Turn{TurnID: "t", Status: protocol.TurnFailed, Error: &protocol.Problem{Message: "The account has no credit."}},
		protocol.Accepted{ID: "2", TurnID: "u"},
		protocol.Turn{TurnID: "u", Status: protocol.TurnFailed, Error: &protocol.Problem{Message: "time is up"}},
		protocol.Turn{TurnID: "u", Status: protocol.TurnFailed, Error: &protocol.Problem{Message: "time is up"}}) // again, after a reconnect
	if r.count("The account has no credit.") != 1 || r.count("the turn failed: time is up") != 1 {
		t.Errorf("shown\n%s", strings.Join(r.lines(), "\n"))
	}
}

func TestMessages_SentWhileOthersAreAnswered_WaitAndComeInOrder(t *testing.T) {
	r := newRig(t, 60, 30)
	r.does(welcome())
	r.types(" one ", "<enter>", "<enter>", "two", "<enter>", "/stop", "<enter>", "a\\", "<enter>", "b", "<alt+enter>", "c", "<ctrl+j>", "d", "<enter>")
	if got, want := strings.Join(r.talk.sent, "|"), "one|two|/stop|a\nb\nc\nd"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
	r.does(protocol.Accepted{ID: "1", TurnID: "t1"}, started("t1"), user("t1", "one"))
	r.shows("waiting")
	r.does(protocol.Command{ID: "3", Name: "stop", OK: true, Text: "Stopping."}, completed("t1"), user("t2", "two"), user("t3", "a\nb\nc\nd"))
	if len(r.shell.model.waiting) != 0 {
		t.Errorf("still waiting: %v", r.shell.model.waiting)
	}
	if got, want := strings.Join(r.shell.o.Typed.Texts(), "|"), "one|two|/stop|a\nb\nc\nd"; got != want {
		t.Errorf("history %q, want %q", got, want)
	}
}

func TestMessage_ThatIsRefused_IsShownWithWhy(t *testing.T) {
	r := newRig(t, 60, 30)
	r.does(welcome())
	r.types("hi", "<enter>")
	r.does(answered{number: 1, err: &client.RefusedError{Code: "read_only", Message: "this session is of another channel"}})
	if r.count("> hi") != 1 || r.count("(read_only)") != 1 || r.count("waits") != 0 {
		t.Errorf("shown\n%s", strings.Join(r.lines(), "\n"))
	}
	if !leaves(r.effects(answered{number: 2, err: errors.New("gone for good")})) || r.shell.model.Err() == nil {
		t.Error("a conversation that cannot go on does")
	}
}

func TestReconnect_WhilePiecesAreMissed_LosesAndRepeatsNothing(t *testing.T) {
	r := newRig(t, 60, 30)
	r.does(welcome(), started("t"), user("t", "tell"), piece("t", "first paragraph\n\nsecond"), lost{})
	r.types("typed meanwhile", "<enter>")
	r.shows("disconnected")
	r.does(welcome(), started("t"), piece("t", "rd paragraph\n\nfourth"), // " paragraph\n\nthi" was missed
		reply("t", "first paragraph\n\nsecond paragraph\n\nthird paragraph\n\nfourth"), completed("t"))
	for _, l := range []string{"first paragraph", "second paragraph", "third paragraph", "fourth"} {
		if n := r.count(l); n != 1 {
			t.Errorf("%q is shown %d times:\n%s", l, n, strings.Join(r.lines(), "\n"))
		}
	}
	if r.count("answered by") != 1 || r.count("begins again") != 0 {
		t.Errorf("shown\n%s", strings.Join(r.lines(), "\n"))
	}
}

func TestCtrlC_FirstStopsTheTurnSecondLeaves(t *testing.T) {
	for name, c := range map[string]struct {
		running, typed bool
		then           func(r *rig)
		again          time.Duration
		leaves         bool
		shown          string
	}{
		"nothing runs, soon after":     {again: time.Second, leaves: true, shown: "press Ctrl-C again"},
		"nothing runs, much later":     {again: time.Minute, leaves: true, shown: "press Ctrl-C again"},
		"a turn runs, soon after":      {running: true, again: time.Second, leaves: true, shown: "stopping the turn"},
		"a turn runs, much later":      {running: true, again: time.Minute, shown: "stopping the turn"}, // the line is still there
		"typed since, soon after":      {then: func(r *rig) { r.types("def") }, again: time.Second, shown: "press Ctrl-C again"},
		"typed since, much later":      {then: func(r *rig) { r.types("def") }, again: time.Minute, shown: "press Ctrl-C again"},
		"typed and deleted since":      {then: func(r *rig) { r.types("d", "<backspace>") }, again: time.Second, shown: "press Ctrl-C again"},
		"another turn runs much later": {running: true, then: func(r *rig) { r.talk.running = true }, again: time.Minute, shown: "stopping the turn"},
		"something was sent between":   {then: func(r *rig) { r.types("hi", "<enter>") }, again: time.Second, shown: "press Ctrl-C again"},
	} {
		r := newRig(t, 60, 30)
		r.does(welcome())
		r.talk.running = c.running
		r.types("half a line", "<ctrl+c>")
		if r.count(c.shown) != 1 {
			t.Errorf("%s: shown\n%s", name, strings.Join(r.screen(), "\n"))
		}
		if kept := r.shell.model.input.area.Value() != ""; kept != c.running {
			t.Errorf("%s: the line is kept: %v", name, kept)
		}
		if c.then != nil {
			c.then(r)
		}
		r.now = r.now.Add(c.again)
		todo := r.effects(press(t, "ctrl+c"))
		if _, asks := first(todo).(cancelTurn); asks {
			todo = r.effects(cancelled{stopped: r.talk.CancelRunning()})
		}
		if leaves(todo) != c.leaves {
			t.Errorf("%s: leaves: %v", name, !c.leaves)
		}
	}
}

func first(todo []effect) effect {
	for _, e := range todo {
		if _, isTick := e.(tick); !isTick {
			return e
		}
	}
	return nil
}

func TestCtrlD_LeavesOnlyWithoutText(t *testing.T) {
	r := newRig(t, 60, 30)
	r.does(welcome())
	r.types("ab", "<left>")
	if leaves(r.effects(press(t, "ctrl+d"))) || r.shell.model.input.area.Value() != "a" {
		t.Errorf("left, or did not delete: %q", r.shell.model.input.area.Value())
	}
	r.types("<backspace>")
	if !leaves(r.effects(press(t, "ctrl+d"))) {
		t.Error("did not leave")
	}
}

func TestHistory_UpAndDown_WalkThroughIt(t *testing.T) {
	r := newRig(t, 60, 30, func(o *Options) { o.Settings.History = []string{"/help", "two\nlines", "last"} })
	r.does(welcome())
	value := func() string { return r.shell.model.input.area.Value() }
	r.types("draft")
	var got []string
	for _, k := range []string{"<up>", "<up>", "<up>", "<up>", "<up>", "<up>", "<down>", "<down>", "<down>", "<down>", "<down>"} {
		r.types(k)
		got = append(got, value())
	}
	want := "last|two\nlines|two\nlines|/help|/help|/help|two\nlines|last|draft|draft|draft"
	if strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
	}
	r.types("<ctrl+r>", "LIN")
	r.shows("history")
	r.types("<enter>")
	if value() != "two\nlines" {
		t.Errorf("chose %q", value())
	}
}

func TestSlash_OffersCommandsAndDialogs(t *testing.T) {
	r := newRig(t, 60, 20)
	r.does(welcome())
	r.types("/", "<down>")
	r.shows("commands")
	r.types("<esc>")
	if len(r.shell.model.complete.items) != 0 {
		t.Error("Esc did not close the list")
	}
	r.types("st", "<tab>")
	if v := r.shell.model.input.area.Value(); v != "/stop" {
		t.Errorf("completed to %q", v)
	}
	r.types("<ctrl+u>", "/us", "<tab>")
	list, _ := r.shell.o.Sessions(t.Context())
	r.does(sessionsLoaded{sessions: list})
	r.shows("dialogs-completed")
	r.types("计", "<down>", "<enter>")
	if got := strings.Join(r.talk.sent, "|"); got != "/use 2" {
		t.Errorf("sent %q", got)
	}
	r.types("/help", "<enter>", "/x", "<enter>", "no / here", "<enter>")
	if got := strings.Join(r.talk.sent, "|"); got != "/use 2|/help|/x|no / here" {
		t.Errorf("sent %q", got)
	}
}

func TestPicker_OpensADialog(t *testing.T) {
	r := newRig(t, 60, 20)
	r.does(welcome())
	r.types("typed", "<ctrl+o>")
	if r.count("loading") != 1 {
		t.Errorf("shown\n%s", strings.Join(r.screen(), "\n"))
	}
	list, _ := r.shell.o.Sessions(t.Context())
	r.does(sessionsLoaded{sessions: list})
	r.shows("dialogs")
	r.types("plan", "<enter>")
	if got := strings.Join(r.talk.sent, "|"); got != "/use 2" {
		t.Errorf("sent %q", got)
	}
	r.does(protocol.Command{ID: "1", Name: "use", OK: true, Text: "This is now the dialog: Plans 计划"},
		protocol.Welcome{Protocol: 1, SessionID: "cli:a:2", Title: "Plans 计划", Model: "gpt-9"},
		earlier{[]protocol.Message{user("x", "of the other dialog")}})
	r.shows("dialog-opened")
	r.types("<ctrl+o>")
	r.does(sessionsLoaded{err: errors.New("no gateway is connected")})
	if r.shell.model.picker != nil || r.count("cannot be listed: no gateway") != 1 {
		t.Errorf("shown\n%s", strings.Join(r.screen(), "\n"))
	}
}

// Dialogs come and go in other terminals, too.
func TestDialogs_OpenedOrCompletedAgain_AreThoseThereAreNow(t *testing.T) {
	r := newRig(t, 60, 20)
	r.does(welcome())
	loads := func(keys ...string) {
		t.Helper()
		n := len(r.todo)
		r.types(keys...)
		for _, cmd := range r.todo[n:] {
			if cmd == nil {
				continue
			}
			if msg, ok := cmd().(sessionsLoaded); ok {
				r.does(msg)
				return
			}
		}
		t.Errorf("%q: the dialogs were not asked for", keys)
	}
	list := []Session{{ID: "cli:a:2", Title: "Old"}}
	r.shell.o.Sessions = func(context.Context) ([]Session, error) { return list, nil }
	loads("<ctrl+o>")
	r.types("<esc>")
	list = append(list, Session{ID: "cli:a:3", Title: "Made elsewhere"}, Session{ID: "cli:a:4", Title: "New dialog", Messages: 3})
	loads("<ctrl+o>")
	if r.count("Made elsewhere") != 1 || r.count("Untitled dialog") != 1 {
		t.Errorf("shown\n%s", strings.Join(r.screen(), "\n"))
	}
	r.types("<esc>")
	list = list[:1]
	loads("/use ")
	if r.count("Made elsewhere") != 0 || r.count("Old") != 1 {
		t.Errorf("shown\n%s", strings.Join(r.screen(), "\n"))
	}
}

func TestOutput_OfModelsAndTools_DoesNotDriveTheTerminal(t *testing.T) {
	evil := rapid.StringOf(rapid.SampledFrom([]rune("a*\x1b[2J]0;title\x07\u009b31m\r\n\b\x00中\x7f`|-")))
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t, 40, 20)
		say := func(name string) string { return "x" + evil.Draw(rt, name) }
		call := reply("t", say("answer"))
		call.ReasoningContent = say("reasoning")
		call.ToolCalls = []chat.ToolCall{chat.NewToolCall("c", say("tool"), say("arguments"))}
		r.does(protocol.Welcome{SessionID: session, Title: say("title"), Model: say("model")}, user("t", say("user")), thinks("t", say("thought")),
			piece("t", say("piece")), call, tool("t", "c", "started", say("summary")), result("t", "c", say("result")),
			protocol.Notice{Level: "message", Text: say("notice")}, protocol.Command{Name: "x", Text: say("command")},
			protocol.Error{Code: "x", Message: say("error")},
			protocol.Turn{TurnID: "t", Status: protocol.TurnFailed, Error: &protocol.Problem{Message: say("problem")}},
			sessionsLoaded{sessions: []Session{{ID: say("id"), Title: say("dialog")}}})
		r.types("<ctrl+t>")
		page := r.shell.model.reading()
		r.types("<esc>", "<ctrl+o>", "<esc>", "/use ")
		for _, l := range append(append(r.shell.model.Final(0), page...), r.shell.model.Frame().Lines...) {
			if strings.IndexFunc(stripped(l), unicode.IsControl) >= 0 {
				rt.Fatalf("a line has control characters: %q", l)
			}
			for _, part := range strings.Split(l, "\x1b")[1:] {
				code, _, ok := strings.Cut(strings.TrimPrefix(part, "["), "m")
				if !ok || !strings.HasPrefix(part, "[") || strings.Trim(code, "0123456789;") != "" {
					rt.Fatalf("a line has a sequence that is no colour: %q", l)
				}
			}
		}
	})
}

// Whatever is pressed, pasted and said, in whatever order and size, the frame fits the
// terminal and the cursor is in it.
func TestFrame_Always_FitsTheTerminal(t *testing.T) {
	keys := rapid.SampledFrom([]string{"a", "中", "/", " ", "<enter>", "<alt+enter>", "<backspace>", "<up>", "<down>", "<tab>", "<esc>", "<ctrl+r>", "<ctrl+o>", "<ctrl+t>", "<ctrl+l>", "<left>", "<home>", "<pgup>"})
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t, 40, 12)
		stages := turnOf(r)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch rapid.IntRange(0, 4).Draw(rt, "what") {
			case 0:
				if len(stages) > 0 {
					stages[0]()
					stages = stages[1:]
				}
			case 1:
				r.resize(rapid.IntRange(1, 90).Draw(rt, "width"), rapid.IntRange(1, 40).Draw(rt, "height"))
			case 2:
				r.does(tea.PasteMsg{Content: strings.Repeat("pasted 行\n", rapid.IntRange(1, 9).Draw(rt, "lines"))})
			default:
				r.types(keys.Draw(rt, "key"))
			}
			m := r.shell.model
			if page := m.Page(); page != nil && len(page) != m.height {
				rt.Fatalf("a page of %d lines on %d×%d", len(page), m.width, m.height)
			}
			f := m.Frame()
			if n := len(f.Lines); m.height > 4 && n > m.height || f.Y < 0 || f.Y >= n || f.X < 0 || m.width > 10 && f.X >= m.width {
				rt.Fatalf("%d lines, cursor %d,%d on %d×%d", n, f.X, f.Y, m.width, m.height)
			}
		}
	})
}

// The line above the input says what the dialog is called now.
func TestTitle_UntitledDialog_IsNewOnlyUntilSomebodySpeaks(t *testing.T) {
	for _, called := range []string{"New dialog", "新对话", ""} {
		r := newRig(t, 60, 20)
		w := welcome()
		w.Title, w.LastSeq = called, 1
		r.does(w)
		if r.count("New dialog, answered") != 1 || r.count("New dialog · gpt-9") != 1 {
			t.Errorf("a new one: shown\n%s", strings.Join(r.lines(), "\n"))
		}
		r.does(user("t1", "hi"))
		if r.count("Untitled dialog · gpt-9") != 1 {
			t.Errorf("spoken in: shown\n%s", strings.Join(r.lines(), "\n"))
		}
		r = newRig(t, 60, 20)
		w.LastSeq = 7
		r.does(w)
		if r.count("Untitled dialog, answered") != 1 || r.count("New dialog") != 0 {
			t.Errorf("an old one: shown\n%s", strings.Join(r.lines(), "\n"))
		}
	}
}

func TestRename_TheDialogIsCalledByItsNewName(t *testing.T) {
	r := newRig(t, 60, 30)
	r.does(welcome())
	rename := func(session, title string, ok bool) {
		t.Helper()
		data, err := json.Marshal(map[string]string{"session_id": session, "title": title})
		if err != nil {
			t.Fatal(err)
		}
		r.does(protocol.Command{Name: "rename", OK: ok, Text: "…", Data: data})
	}
	rename(r.shell.model.session, "Trip to\n\x07Rome", true)
	rename("another", "Elsewhere", true)
	rename(r.shell.model.session, "Refused", false)
	if got := r.shell.model.title; got != "Trip to Rome" {
		t.Errorf("it is called %q", got)
	}
}

func TestInput_ManyLinesOnATerminalThatBecomesSmall_TheCursorIsInWhatIsShown(t *testing.T) {
	r := newRig(t, 40, 30)
	r.does(welcome())
	r.types("a")
	r.does(tea.PasteMsg{Content: strings.Repeat("pasted 行\n", 3)})
	for _, size := range [][2]int{{14, 1}, {1, 1}, {40, 2}, {9, 3}} {
		r.shell.model, _ = r.shell.model.Update(sized{size[0], size[1]}, r.now)
		if f := r.shell.model.Frame(); f.Y >= len(f.Lines) {
			t.Errorf("%v: cursor in line %d of %q", size, f.Y, f.Lines)
		}
	}
}
