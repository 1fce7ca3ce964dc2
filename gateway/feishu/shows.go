package feishu

import (
	"context"
	"errors"
	"sync"
	"time"

	"picobot/internal/chat"
	"picobot/internal/live"
	"picobot/internal/llm"
	"picobot/store"
)

// shows lets a chat see that its message is being worked on: a reaction on it, and,
// where it takes longer, a card that changes and becomes the answer. All of it is a
// courtesy: what fails is left out, the answer comes anyway.
type shows struct {
	app  *App
	wake chan struct{}

	mu       sync.Mutex
	arrived  []store.Turn
	sessions map[string]*watching
}

func newShows(a *App) *shows {
	return &shows{app: a, wake: make(chan struct{}, 1), sessions: map[string]*watching{}}
}

// follow shows how a turn gets on. It never waits.
func (s *shows) follow(turns ...store.Turn) {
	s.mu.Lock()
	s.arrived = append(s.arrived, turns...)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run shows until ctx ends. What an earlier process was showing goes on.
func (s *shows) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	left, err := s.app.opts.Record.Showing(ctx, chat.ChannelFeishu)
	if err != nil && ctx.Err() == nil {
		s.app.log.Warn("what is shown of turns from before cannot be read", "error", err)
	}
	s.follow(left...)
	for {
		s.mu.Lock()
		for _, t := range s.arrived {
			w := s.sessions[t.SessionID]
			if w == nil {
				w = &watching{shows: s, session: t.SessionID, wake: make(chan struct{}, 1)}
				s.sessions[t.SessionID] = w
				all.Go(func() { w.run(ctx) })
			}
			w.arrived = append(w.arrived, t.ID)
			select {
			case w.wake <- struct{}{}:
			default:
			}
		}
		s.arrived = nil
		s.mu.Unlock()
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
	}
}

// watching follows the turns of one session.
type watching struct {
	shows   *shows
	session string
	wake    chan struct{}
	arrived []string // turns; shows.mu is held

	turns map[string]*shown
}

// shown is what a chat sees of one turn.
type shown struct {
	id      string
	begun   bool   // its reaction was asked for
	text    string // what streams in
	step    int    // of text
	attempt int
	drawn   string // the card as it was painted last
	at      time.Time
	given   bool      // no card for this one
	next    time.Time // when ending it is tried again
	wait    *backoff
}

// again is how often a turn is looked at without news.
const again = 500 * time.Millisecond

func (w *watching) run(ctx context.Context) {
	news := w.shows.app.opts.Hub.Watch(w.session)
	defer news.Close()
	tick := time.NewTicker(again)
	defer tick.Stop()
	w.turns = map[string]*shown{}
	for {
		w.take()
		progress, _ := news.Take()
		for _, p := range progress {
			if t := w.turns[p.TurnID]; t != nil {
				t.add(p)
			}
		}
		for id, t := range w.turns {
			if w.look(ctx, t) {
				delete(w.turns, id)
			}
		}
		if ctx.Err() != nil || w.leave() {
			return
		}
		select {
		case <-news.C:
		case <-w.wake:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (w *watching) take() {
	w.shows.mu.Lock()
	defer w.shows.mu.Unlock()
	for _, id := range w.arrived {
		if w.turns[id] == nil {
			w.turns[id] = &shown{id: id, wait: newBackoff(time.Minute)}
		}
	}
	w.arrived = nil
}

// leave ends the watching when there is nothing to watch.
func (w *watching) leave() bool {
	w.shows.mu.Lock()
	defer w.shows.mu.Unlock()
	if len(w.turns) > 0 || len(w.arrived) > 0 {
		return false
	}
	delete(w.shows.sessions, w.session)
	return true
}

func (t *shown) add(p live.Progress) {
	if p.Tool != nil || p.Notice != nil || p.Kind != llm.DeltaText {
		return
	}
	if p.Step != t.step || p.Attempt != t.attempt {
		t.text, t.step, t.attempt = "", p.Step, p.Attempt
	}
	t.text += p.Text
	if len(t.text) > 2*maxStreamed*4 {
		t.text = t.text[len(t.text)-maxStreamed*4:]
	}
}

// look brings what is shown of a turn up to date, and reports whether it is over.
func (w *watching) look(ctx context.Context, t *shown) (over bool) {
	a := w.shows.app
	turn, err := a.opts.Record.Turn(ctx, t.id)
	if err != nil {
		return errors.Is(err, store.ErrNotFound)
	}
	if turn.Status.Final() {
		now := a.opts.Now()
		if now.Before(t.next) {
			return false
		}
		over = a.conclude(ctx, turn)
		t.next = now.Add(t.wait.next())
		return over
	}
	if !t.begun {
		if to, err := a.target(ctx, store.Outbound{Origin: turn.ID, ChatID: chatOf(turn)}); err != nil || to.replyTo == "" {
			return err == nil // a job's: nobody here asked, and its answer may go elsewhere
		}
		t.begun = true
		a.mark(ctx, turn)
	}
	if turn.Status == chat.TurnRunning && !t.given && a.opts.Now().Sub(t.at) >= a.opts.Timing.Patch {
		a.draw(ctx, turn, t)
	}
	return false
}
