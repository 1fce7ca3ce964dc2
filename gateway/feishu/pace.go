package feishu

import (
	"context"
	"sync"
	"time"
)

// pacer keeps the distance between messages to one chat: Feishu takes 5 a second, of
// all bots together. What one chat waits for keeps no other from going on.
type pacer struct {
	now     func() time.Time
	spacing time.Duration

	mu   sync.Mutex
	next map[string]time.Time // when a chat may be sent the next message
}

func newPacer(now func() time.Time, spacing time.Duration) *pacer {
	return &pacer{now: now, spacing: spacing, next: map[string]time.Time{}}
}

// longWait is what is not waited for on the spot.
const longWait = time.Second

// take reserves the next moment of a chat. It says how long to wait until then; what
// is longer than most is not reserved.
func (p *pacer) take(chatID string, most time.Duration) (wait time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if len(p.next) > 1024 {
		for id, at := range p.next {
			if at.Before(now) {
				delete(p.next, id)
			}
		}
	}
	at := p.next[chatID]
	if at.Before(now) {
		at = now
	}
	if wait = at.Sub(now); wait > most {
		return wait, false
	}
	p.next[chatID] = at.Add(p.spacing)
	return wait, true
}

// hold lets nothing into a chat for that long.
func (p *pacer) hold(chatID string, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.now().Add(d); at.After(p.next[chatID]) {
		p.next[chatID] = at
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// locks let one at a time do something to what a turn shows.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	token chan struct{}
	users int
}

func newLocks() *locks { return &locks{held: map[string]*lock{}} }

// take waits for its turn and returns what gives it back.
func (l *locks) take(ctx context.Context, name string) (release func(), err error) {
	l.mu.Lock()
	k := l.held[name]
	if k == nil {
		k = &lock{token: make(chan struct{}, 1)}
		l.held[name] = k
	}
	k.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, name)
		}
	}
	select {
	case k.token <- struct{}{}:
		return func() { <-k.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
