package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"picobot/cli/client"
	"picobot/internal/brief"
	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/internal/text"
)

// Output is where a script finds answers: they, and nothing else, go to Stdout.
type Output struct {
	Stdout io.Writer
	Stderr io.Writer
	JSON   bool            // one object per answer instead of its text
	Words  *text.Catalogue // nil = English
}

// answer is what --json prints.
type answer struct {
	SessionID string            `json:"session_id"`
	TurnID    string            `json:"turn_id"`
	Status    string            `json:"status"`
	Reply     string            `json:"reply"`
	Usage     chat.Usage        `json:"usage"`
	Error     *protocol.Problem `json:"error,omitempty"`
}

// print writes an answer. In text, a failed turn has none.
func (o Output) print(out client.Outcome) error {
	if o.JSON {
		enc := json.NewEncoder(o.Stdout)
		enc.SetEscapeHTML(false)
		return enc.Encode(answer{
			SessionID: out.SessionID,
			TurnID:    out.TurnID,
			Status:    out.Status,
			Reply:     out.Reply,
			Usage:     out.Usage,
			Error:     out.Problem,
		})
	}
	if o.failure(out) != nil {
		return nil
	}
	_, err := io.WriteString(o.Stdout, line(out.Reply))
	return err
}

// Aside shows what the gateway says beside answers, on a stream of its own.
type Aside struct {
	words *text.Catalogue

	mu      sync.Mutex
	w       io.Writer
	running map[string]bool   // turns that have started and not ended
	waits   bool              // it was said that something else is answered first
	mine    map[string]bool   // turns of messages from here
	asked   map[string]string // what other turns answer
}

// NewAside returns an Aside that writes to w, in the language of words (nil = English).
func NewAside(w io.Writer, words *text.Catalogue) *Aside {
	return &Aside{w: w, words: words, running: map[string]bool{}, mine: map[string]bool{}, asked: map[string]string{}}
}

// Frame takes a frame. It is a client.Options.OnFrame.
func (a *Aside) Frame(f protocol.ServerFrame) {
	switch f := f.(type) {
	case protocol.Accepted:
		a.mu.Lock()
		a.mine[f.TurnID] = true
		a.mu.Unlock()
	case protocol.Message:
		a.row(f)
	case protocol.Notice:
		a.Say(NoticeText(f, a.words))
	case protocol.Turn:
		if a.before(f) {
			a.Say(said(a.words, text.EarlierAnswerFirst{}))
		}
	case protocol.Error:
		if f.ID == "" {
			a.Say(said(a.words, text.GatewaySays{Message: Clean(f.Message), Code: f.Code}))
		}
	}
}

// before reports whether it has to be said, which is done once, that a turn waits for
// another one: whoever asked would take the silence for their own answer's.
func (a *Aside) before(t protocol.Turn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case t.Status == protocol.TurnStarted:
		a.running[t.TurnID] = true
	case t.Status != protocol.TurnQueued:
		delete(a.running, t.TurnID)
	case len(a.running) > 0 && !a.running[t.TurnID] && !a.waits:
		a.waits = true
		return true
	}
	return false
}

// Earlier takes rows that came while nobody looked: what was answered then is said.
func (a *Aside) Earlier(rows []protocol.Message) {
	for _, row := range rows {
		a.row(row)
	}
}

// row says that a message from elsewhere, or from before, was answered.
func (a *Aside) row(m protocol.Message) {
	const mostSaid, mostAnswer = 60, 200
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case m.TurnID == "" || a.mine[m.TurnID]:
	case m.Role == chat.RoleUser:
		a.asked[m.TurnID] = m.Content
	case m.Role == chat.RoleAssistant && len(m.ToolCalls) == 0:
		message, answer := brief.Cut(brief.OneLine(a.asked[m.TurnID]), mostSaid), brief.Cut(brief.OneLine(m.Content), mostAnswer)
		delete(a.asked, m.TurnID)
		if message == "" {
			a.say(said(a.words, text.AnsweredBefore{Answer: answer}))
		} else {
			a.say(said(a.words, text.AnsweredMeanwhile{Said: message, Answer: answer}))
		}
	}
}

// Say writes one line.
func (a *Aside) Say(line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.say(line)
}

func (a *Aside) say(line string) { _, _ = fmt.Fprintln(a.w, line) }
