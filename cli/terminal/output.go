package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"picobot/cli/client"
	"picobot/internal/chat"
	"picobot/internal/protocol"
)

// Output is where a script finds answers: they, and nothing else, go to Stdout.
type Output struct {
	Stdout io.Writer
	Stderr io.Writer
	JSON   bool // one object per answer instead of its text
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
	if failure(out) != nil {
		return nil
	}
	_, err := io.WriteString(o.Stdout, line(out.Reply))
	return err
}

// Aside shows what the gateway says beside answers, on a stream of its own.
type Aside struct {
	mu sync.Mutex
	w  io.Writer
}

// NewAside returns an Aside that writes to w.
func NewAside(w io.Writer) *Aside { return &Aside{w: w} }

// Frame takes a frame. It is a client.Options.OnFrame.
func (a *Aside) Frame(f protocol.ServerFrame) {
	switch f := f.(type) {
	case protocol.Notice:
		a.Say(NoticeText(f))
	case protocol.Error:
		if f.ID == "" {
			a.Say(fmt.Sprintf("the gateway says: %s (%s)", Clean(f.Message), f.Code))
		}
	}
}

// Say writes one line.
func (a *Aside) Say(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = fmt.Fprintln(a.w, text)
}
