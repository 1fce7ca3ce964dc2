package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"picobot/cli/client"
	"picobot/internal/chat"
	"picobot/internal/protocol"
)

// Screen shows a conversation as it happens: answers while they are written, tools
// while they run. What is shown of an answer early is a promise that its row keeps
// or corrects. It writes whole lines only: there is a prompt below them.
type Screen struct {
	mu      sync.Mutex
	w       io.Writer
	partial strings.Builder // of the line that is being streamed
	asked   []string        // what the person typed here and no row has confirmed

	// What has been streamed and not yet been confirmed by a row.
	turn     string
	step     int
	attempt  int
	streamed strings.Builder

	reported string // the turn whose failure was shown last
	welcomed string
}

// NewScreen returns a Screen that writes to w.
func NewScreen(w io.Writer) *Screen { return &Screen{w: w} }

// Asked tells what the person has just typed, which needs not be shown again.
func (s *Screen) Asked(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, text)
}

// Answered ends the answer to a message.
func (s *Screen) Answered(o client.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.Command != nil || o.Elsewhere {
		return
	}
	if s.turn == o.TurnID {
		s.freshLine()
	}
	if failure(o) != nil && (o.TurnID == "" || s.reported != o.TurnID) {
		s.aside(failure(o).Error())
	}
}

// Flush shows what has been streamed of a line that is not complete.
func (s *Screen) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.freshLine()
}

// Say shows one line; an answer that is being written goes on after it.
func (s *Screen) Say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aside(text)
}

// Frame takes a frame. It is a client.Options.OnFrame.
func (s *Screen) Frame(f protocol.ServerFrame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch f := f.(type) {
	case protocol.Welcome:
		s.welcome(f)
	case protocol.Delta:
		s.delta(f)
	case protocol.Tool:
		s.tool(f)
	case protocol.Message:
		s.row(f)
	case protocol.Turn:
		if f.TurnID == s.turn && chat.TurnStatus(f.Status).Final() {
			s.freshLine()
		}
	case protocol.Command:
		s.unask(func(text string) bool { return strings.HasPrefix(text, "/"+f.Name) })
		s.aside(strings.TrimRight(Clean(f.Text), "\n"))
	case protocol.Notice:
		s.aside(NoticeText(f))
	case protocol.Error:
		if f.ID == "" {
			s.aside(fmt.Sprintf("the gateway says: %s (%s)", Clean(f.Message), f.Code))
		}
	}
}

func (s *Screen) welcome(w protocol.Welcome) {
	if s.welcomed == w.SessionID {
		return // only a reconnect
	}
	s.welcomed = w.SessionID
	title := w.Title
	if title == "" {
		title = w.SessionID
	}
	s.say(fmt.Sprintf("%s, answered by %s. /help lists commands, Ctrl-D leaves.", Clean(title), Clean(w.Model)))
}

func (s *Screen) delta(d protocol.Delta) {
	if d.Kind != "text" {
		return // thoughts are for a screen with more room
	}
	if d.TurnID != s.turn || d.Step != s.step {
		s.freshLine()
		s.forget()
		s.turn, s.step, s.attempt = d.TurnID, d.Step, d.Attempt
	} else if d.Attempt != s.attempt {
		s.say("(the answer begins again)")
		s.forget()
		s.turn, s.step, s.attempt = d.TurnID, d.Step, d.Attempt
	}
	s.streamed.WriteString(d.Text)
	s.write(Clean(d.Text))
}

func (s *Screen) tool(t protocol.Tool) {
	switch t.Status {
	case "started":
		what := oneLine(t.Summary) // it begins with the tool's name
		if what == "" {
			what = Clean(t.Name)
		}
		s.say("· " + what)
	case "completed":
	default:
		s.say(fmt.Sprintf("· %s: %s", Clean(t.Name), t.Status))
	}
}

// row confirms what was streamed, or shows what was not.
func (s *Screen) row(m protocol.Message) {
	switch {
	case m.Role == chat.RoleUser && s.unask(func(text string) bool { return m.Content == text }):
	case m.Role == chat.RoleUser: // said by somebody else, or elsewhere
		s.aside("> " + Clean(m.Content))
	case m.Marker == chat.MarkerOutbound: // came as a notice when it was sent
	case m.Role == chat.RoleAssistant:
		s.answer(m)
	}
}

func (s *Screen) answer(m protocol.Message) {
	shown := s.streamed.String()
	if s.turn != m.TurnID {
		shown = ""
	}
	if m.Marker == chat.MarkerError {
		s.reported = m.TurnID
	}
	switch rest, ok := strings.CutPrefix(m.Content, shown); {
	case m.Content == "":
	case ok && shown != "": // some of it may have been left out on the way
		s.write(Clean(rest))
	default:
		s.freshLine()
		s.write(Clean(m.Content))
	}
	s.freshLine()
	s.forget()
}

// unask forgets the first thing typed that is meant, if there is one.
func (s *Screen) unask(is func(string) bool) bool {
	i := slices.IndexFunc(s.asked, is)
	if i < 0 {
		return false
	}
	s.asked = slices.Delete(s.asked, i, i+1)
	return true
}

func (s *Screen) forget() {
	s.turn, s.step, s.attempt = "", 0, 0
	s.streamed.Reset()
}

func (s *Screen) say(text string) {
	s.freshLine()
	s.write(text + "\n")
}

// aside shows lines above one that is being streamed.
func (s *Screen) aside(text string) { s.put(line(text)) }

// freshLine ends the line that is being streamed.
func (s *Screen) freshLine() {
	if s.partial.Len() > 0 {
		s.write("\n")
	}
}

// write shows the lines that text completes and keeps the rest of it.
func (s *Screen) write(text string) {
	end := strings.LastIndexByte(text, '\n') + 1
	if end > 0 {
		whole := s.partial.String() + text[:end]
		s.partial.Reset()
		s.put(whole)
	}
	s.partial.WriteString(text[end:])
}

func (s *Screen) put(lines string) {
	// A terminal that is gone shows nothing; the conversation ends with its input.
	_, _ = io.WriteString(s.w, lines)
}

// oneLine shortens a summary to what fits beside a tool's name.
func oneLine(text string) string {
	const most = 160
	text = strings.Join(strings.Fields(Clean(text)), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
