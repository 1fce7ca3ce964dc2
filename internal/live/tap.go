package live

// News is what there is of one session since it was asked for last.
type News struct {
	SessionID string     `json:"session_id"`
	Changed   bool       `json:"changed,omitempty"`  // its record has changed
	Progress  []Progress `json:"progress,omitempty"` // oldest first
}

// maxTapped bounds what a Tap keeps, in bytes: some seconds of many streamed answers.
const maxTapped = 1 << 20

// Tap receives the news of every session, for watchers in another process. C is
// signalled when there is something to Take; signals merge.
type Tap struct {
	C       <-chan struct{}
	c       chan struct{}
	hub     *Hub
	pending map[string]*News
	order   []string // sessions, as they had news
	size    int      // of pending, in bytes
	urgent  bool     // something other than text is pending
	lost    int      // pieces that there was no room for since the last Take
}

// Tap begins to receive the news of every session. A hub has one at most: another one
// takes its place.
func (h *Hub) Tap() *Tap {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tap = &Tap{C: c, c: c, hub: h, pending: map[string]*News{}}
	return h.tap
}

// Take returns the news since the last Take, and how many pieces are missing because
// they were not taken in time.
func (t *Tap) Take() (news []News, lost int) {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	for _, id := range t.order {
		news = append(news, *t.pending[id])
	}
	lost = t.lost
	t.pending, t.order, t.size, t.urgent, t.lost = map[string]*News{}, nil, 0, false, 0
	select {
	case <-t.c: // that was about these
	default:
	}
	return news, lost
}

// Urgent reports whether something other than text waits to be taken.
func (t *Tap) Urgent() bool {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	return t.urgent
}

// Close stops receiving.
func (t *Tap) Close() {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	if t.hub.tap == t {
		t.hub.tap = nil
	}
}

// of returns the news of a session, nil where there is no room for size more bytes.
func (t *Tap) of(sessionID string, size int) *News {
	n := t.pending[sessionID]
	if n == nil {
		size += 64 + len(sessionID)
	}
	if t.size+size > maxTapped {
		t.lost++
		return nil
	}
	t.size += size
	if n == nil {
		n = &News{SessionID: sessionID}
		t.pending[sessionID] = n
		t.order = append(t.order, sessionID)
	}
	select {
	case t.c <- struct{}{}:
	default: // a signal is waiting already
	}
	return n
}

func (t *Tap) changed(sessionID string) {
	if n := t.of(sessionID, 0); n != nil {
		n.Changed, t.urgent = true, true
	}
}

func (t *Tap) progress(sessionID string, p Progress) {
	n := t.of(sessionID, p.size())
	if n == nil {
		return
	}
	t.urgent = t.urgent || !p.isText()
	if last := len(n.Progress) - 1; last >= 0 && p.follows(n.Progress[last]) {
		n.Progress[last].Text += p.Text
		return
	}
	n.Progress = append(n.Progress, p)
}

// size is what a piece counts for, in bytes.
func (p Progress) size() int {
	n := 128 + len(p.TurnID) + len(p.Text)
	if p.Tool != nil {
		n += len(p.Tool.CallID) + len(p.Tool.Name) + len(p.Tool.Summary)
	}
	if p.Notice != nil {
		for _, t := range p.Notice.Texts {
			n += len(t)
		}
	}
	return n
}

// Pass gives watchers here the news of another process. What has happened to a session
// gets to them at once: progress that comes before a change is never seen after it.
//
// News of two processes may overtake one another: who asks a model need not be who began
// the turn, and what belongs to a turn or a step that a watcher does not know of is not
// shown. So the first piece of a step, and each tool, has it look at the record too.
func (h *Hub) Pass(news []News) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range news {
		for _, p := range n.Progress {
			for w := range h.watchers[n.SessionID] {
				if at := (step{p.TurnID, p.Step}); at != w.passed || p.Tool != nil {
					w.passed, w.changed = at, true
				}
			}
			h.show(n.SessionID, p)
		}
		if n.Changed {
			h.change(n.SessionID)
		}
	}
}

// step names a step of a turn.
type step struct {
	turn string
	step int
}
