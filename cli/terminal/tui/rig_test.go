package tui

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/vt"

	"picobot/cli/client"
	"picobot/cli/terminal/history"
	"picobot/cli/terminal/paint"
	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/internal/text"
)

var update = flag.Bool("update", false, "write the screens in testdata anew")

// talk is a gateway that a test answers for.
type talk struct {
	mu        sync.Mutex
	sent      []string
	media     [][]protocol.Media
	running   bool
	cancelled int
	unsent    int
	arrives   bool          // unsent ones arrive when they were asked for
	news      chan struct{} // one for each message
	outcome   func(text string) (client.Outcome, error)
}

func (c *talk) Send(text string, media ...protocol.Media) func(context.Context) (client.Outcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent, c.media = append(c.sent, text), append(c.media, media)
	if c.news != nil {
		c.news <- struct{}{}
	}
	return func(ctx context.Context) (client.Outcome, error) {
		if c.outcome != nil {
			return c.outcome(text)
		}
		<-ctx.Done()
		return client.Outcome{}, ctx.Err()
	}
}

func (c *talk) CancelRunning() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.running
	if c.running = false; was {
		c.cancelled++
	}
	return was
}

func (c *talk) Outstanding() (unsent, open int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	unsent = c.unsent
	if c.arrives {
		c.unsent = 0
	}
	if c.running {
		open = 1
	}
	return unsent, open
}

// rig is a conversation on a terminal that exists only here. Its clock is moved by hand.
type rig struct {
	t     *testing.T
	vt    *vt.Emulator
	raw   strings.Builder // all that was written
	shell *shell
	talk  *talk
	now   time.Time
	todo  []tea.Cmd
	seq   int64
}

func (r *rig) Write(p []byte) (int, error) {
	r.raw.Write(p)
	return r.vt.Write(p)
}

func newRig(t *testing.T, width, height int, change ...func(*Options)) *rig {
	t.Helper()
	typed, err := history.Open(filepath.Join(t.TempDir(), "history"))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, vt: vt.NewEmulator(width, height), talk: &talk{}, now: time.Unix(1_800_000_000, 0)}
	o := Options{
		Settings: Settings{
			Words:           text.For(text.English),
			Commands:        []Command{{Name: "new", Usage: "[TITLE]", Help: "begin a new dialog"}, {Name: "use", Usage: "N|ID", Help: "switch to a dialog"}, {Name: "stop", Help: "stop what is running"}, {Name: "help", Help: "show this list"}},
			MaxMessageBytes: 1 << 20,
		},
		Out:   r,
		Typed: typed,
		Now:   func() time.Time { return r.now },
		Sessions: func(context.Context) ([]Session, error) {
			return []Session{{ID: "cli:a:2", Title: "Plans 计划"}, {ID: "cli:a:1", Title: "Old"}}, nil
		},
	}
	for _, c := range change {
		c(&o)
	}
	for _, h := range o.Settings.History {
		if err := typed.Add(h); err != nil {
			t.Fatal(err)
		}
	}
	r.shell = &shell{o: o, model: New(o.Settings, r.now), ctx: t.Context(), talk: r.talk, painter: paint.New(r, height)}
	r.shell.apply(sized{width, height})
	r.shell.epoch = r.shell.model.epoch
	r.does(redraw{})
	return r
}

// does hands messages to the conversation.
func (r *rig) does(msgs ...any) {
	r.t.Helper()
	for _, m := range msgs {
		if f, ok := m.(protocol.ServerFrame); ok {
			m = frame{f}
		}
		if row, ok := m.(frame); ok {
			if m2, ok := row.ServerFrame.(protocol.Message); ok {
				r.seq++
				m2.Seq = r.seq
				m = frame{m2}
			}
		}
		_, cmd := r.shell.Update(m)
		r.todo = append(r.todo, cmd)
	}
}

// types presses keys: a text, or the names of keys in <>.
func (r *rig) types(keys ...string) {
	r.t.Helper()
	for _, k := range keys {
		if strings.HasPrefix(k, "<") {
			r.does(press(r.t, strings.Trim(k, "<>")))
			continue
		}
		for _, c := range k {
			r.does(tea.KeyPressMsg{Code: c, Text: string(c)})
		}
	}
}

func press(t *testing.T, name string) tea.KeyPressMsg {
	t.Helper()
	var k tea.Key
	parts := strings.Split(name, "+")
	for _, p := range parts[:len(parts)-1] {
		k.Mod |= map[string]tea.KeyMod{"ctrl": tea.ModCtrl, "alt": tea.ModAlt, "shift": tea.ModShift}[p]
	}
	last := parts[len(parts)-1]
	codes := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "tab": tea.KeyTab, "backspace": tea.KeyBackspace, "left": tea.KeyLeft, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd}
	if k.Code = codes[last]; k.Code == 0 {
		k.Code = []rune(last)[0]
	}
	msg := tea.KeyPressMsg(k)
	if msg.String() != name {
		t.Fatalf("pressed %q, not %q", msg.String(), name)
	}
	return msg
}

// later lets time pass, and what moves, move.
func (r *rig) later(d time.Duration) {
	r.now = r.now.Add(d)
	r.does(ticked{})
}

// lines are all lines there are, those that have gone up from the screen first.
func (r *rig) lines() []string {
	var out []string
	for y := range r.vt.ScrollbackLen() {
		var l strings.Builder
		for x := 0; x < r.vt.Width(); x++ {
			if c := r.vt.ScrollbackCellAt(x, y); c != nil {
				l.WriteString(c.Content)
			}
		}
		out = append(out, strings.TrimRight(l.String(), " "))
	}
	return append(out, r.screen()...)
}

func (r *rig) screen() []string {
	lines := strings.Split(r.vt.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// shows compares the screen, and where the cursor is, with a file.
func (r *rig) shows(name string) {
	r.t.Helper()
	lines := r.screen()
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	at := r.vt.CursorPosition()
	got := strings.Join(lines, "\n") + fmt.Sprintf("\n[cursor %d,%d of %d×%d]\n", at.X, at.Y, r.vt.Width(), r.vt.Height())
	path := filepath.Join("testdata", name+".screen")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			r.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	if got != string(want) {
		r.t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// resize gives the terminal another size.
func (r *rig) resize(width, height int) {
	r.vt.Resize(width, height)
	r.does(sized{width, height})
}

func (r *rig) count(line string) int {
	n := 0
	for _, l := range r.lines() {
		if strings.Contains(l, line) {
			n++
		}
	}
	return n
}

// What the gateway says.
const session = "cli:a:1"

func welcome() protocol.Welcome {
	return protocol.Welcome{Protocol: 1, SessionID: session, Title: "Plans", Model: "gpt-9"}
}

func started(turn string) protocol.Turn {
	return protocol.Turn{TurnID: turn, SessionID: session, Status: protocol.TurnStarted}
}

func completed(turn string) protocol.Turn {
	return protocol.Turn{TurnID: turn, SessionID: session, Status: protocol.TurnCompleted}
}

func user(turn, content string) protocol.Message {
	return protocol.Message{SessionID: session, TurnID: turn, Role: chat.RoleUser, Content: content}
}

func reply(turn, content string) protocol.Message {
	return protocol.Message{SessionID: session, TurnID: turn, Role: chat.RoleAssistant, Content: content}
}

func result(turn, call, content string) protocol.Message {
	return protocol.Message{SessionID: session, TurnID: turn, Role: chat.RoleTool, ToolCallID: call, ToolName: "bash", Content: content}
}

func piece(turn, what string) protocol.Delta {
	return protocol.Delta{TurnID: turn, Step: 1, Attempt: 1, Kind: "text", Text: what}
}

func thinks(turn, what string) protocol.Delta {
	return protocol.Delta{TurnID: turn, Step: 1, Attempt: 1, Kind: "reasoning", Text: what}
}

func tool(turn, call, status, summary string) protocol.Tool {
	return protocol.Tool{TurnID: turn, Step: 1, CallID: call, Name: "bash", Status: status, Summary: summary}
}
