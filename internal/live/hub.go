package live

import (
	"slices"
	"sync"

	"picobot/internal/llm"
	"picobot/internal/text"
)

// Progress is one thing worth showing while a turn runs: a piece of a streamed
// answer or a tool that starts.
type Progress struct {
	TurnID  string        `json:"turn_id"`
	Step    int           `json:"step"`
	Attempt int           `json:"attempt,omitempty"` // model calls only
	Kind    llm.DeltaKind `json:"kind,omitempty"`
	Text    string        `json:"text,omitempty"`
	Tool    *ToolStart    `json:"tool,omitempty"`   // set instead of Kind and Text
	Notice  *Notice       `json:"notice,omitempty"` // likewise
}

// Notice is something that people who wait for a turn should know. The record does
// not keep it. Make it with NewNotice.
type Notice struct {
	ID    string            `json:"id"`    // the same for everybody it is shown to
	Texts map[string]string `json:"texts"` // by locale: whoever shows it may be another process
}

// NewNotice returns a notice that say puts into words of each language.
func NewNotice(id string, say func(*text.Catalogue) string) *Notice {
	n := &Notice{ID: id, Texts: map[string]string{}}
	for _, locale := range text.Locales() {
		n.Texts[locale] = say(text.For(locale))
	}
	return n
}

// In returns what the notice says in the language of c.
func (n *Notice) In(c *text.Catalogue) string { return n.Texts[c.Locale()] }

// ToolStart says that a tool call begins to run.
type ToolStart struct {
	Position int    `json:"position"`
	CallID   string `json:"call_id"`
	Name     string `json:"name"`
	Summary  string `json:"summary"`
}

// Hub knows who watches which session. Safe for concurrent use.
type Hub struct {
	mu       sync.Mutex
	watchers map[string]map[*Watcher]struct{}
	tap      *Tap // nil = nobody asks for everything
}

// NewHub returns a hub nobody watches.
func NewHub() *Hub { return &Hub{watchers: map[string]map[*Watcher]struct{}{}} }

// maxPending bounds what a watcher that does not take is kept for, in pieces.
const maxPending = 1024

// Watcher receives the news of one session. C is signalled when there is
// something to Take or to read from the record; signals merge.
type Watcher struct {
	C       <-chan struct{}
	c       chan struct{}
	hub     *Hub
	session string
	pending []Progress
	changed bool
	passed  step // of the newest piece from another process
}

// Watch starts watching a session. The caller must Close the watcher.
func (h *Hub) Watch(sessionID string) *Watcher {
	c := make(chan struct{}, 1)
	w := &Watcher{C: c, c: c, hub: h, session: sessionID}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers[sessionID] == nil {
		h.watchers[sessionID] = map[*Watcher]struct{}{}
	}
	h.watchers[sessionID][w] = struct{}{}
	return w
}

// Close stops watching. It may be called more than once.
func (w *Watcher) Close() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	delete(w.hub.watchers[w.session], w)
	if len(w.hub.watchers[w.session]) == 0 {
		delete(w.hub.watchers, w.session)
	}
}

// Take returns the progress that has come since the last Take, oldest first, and
// whether the record has changed since then.
func (w *Watcher) Take() (progress []Progress, changed bool) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	progress, changed = w.pending, w.changed
	w.pending, w.changed = nil, false
	return progress, changed
}

// Urgent reports whether something other than text waits to be taken.
func (w *Watcher) Urgent() bool {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	return w.changed || slices.ContainsFunc(w.pending, func(p Progress) bool { return !p.isText() })
}

func (w *Watcher) wake() {
	select {
	case w.c <- struct{}{}:
	default: // a signal is waiting already
	}
}

// Wake tells the watchers of a session that its record has changed.
func (h *Hub) Wake(sessionID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.change(sessionID)
	if h.tap != nil {
		h.tap.changed(sessionID)
	}
}

// change is Wake; h.mu is held.
func (h *Hub) change(sessionID string) {
	for w := range h.watchers[sessionID] {
		w.changed = true
		w.wake()
	}
}

// WakeAll tells every watcher to look at the record: someone else changed it.
func (h *Hub) WakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ws := range h.watchers {
		for w := range ws {
			w.changed = true
			w.wake()
		}
	}
}

// Publish shows progress to the watchers of a session. It never waits: a watcher
// that has fallen maxPending pieces behind loses the newest.
func (h *Hub) Publish(sessionID string, p Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.show(sessionID, p)
	if h.tap != nil {
		h.tap.progress(sessionID, p)
	}
}

// show is Publish; h.mu is held.
func (h *Hub) show(sessionID string, p Progress) {
	for w := range h.watchers[sessionID] {
		if n := len(w.pending); n > 0 && p.follows(w.pending[n-1]) {
			w.pending[n-1].Text += p.Text
		} else if n < maxPending {
			w.pending = append(w.pending, p)
		}
		w.wake()
	}
}

func (p Progress) isText() bool { return p.Tool == nil && p.Notice == nil }

// follows reports whether p only continues the text of last.
func (p Progress) follows(last Progress) bool {
	return last.isText() && p.isText() && last.TurnID == p.TurnID && last.Step == p.Step && last.Attempt == p.Attempt && last.Kind == p.Kind &&
		len(last.Text)+len(p.Text) <= 16<<10
}
