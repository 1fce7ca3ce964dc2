package skills

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"picobot/internal/brief"
)

// Options of a Library.
type Options struct {
	Sources []Source    // a later one overrides an earlier one
	States  []StateFile // a skill that one of them names is switched off
	// MaxIndexChars and MaxListed bound the index; 0 = there is none, or no list.
	MaxIndexChars, MaxListed int
	// Record is told what happens; nil = nobody.
	Record Recorder
	Now    func() time.Time // nil = time.Now
	Logger *slog.Logger     // nil = nobody
}

// Library is all skills. It looks at the disk whenever it is asked, so it is never
// out of date, and reads only what has changed. It is safe for concurrent use.
type Library struct {
	o Options

	arrivals atomic.Int64
	mu       sync.Mutex // of the fields below
	checked  int64      // when the last look at the disk began, on the clock of arrivals
	snap     *Snapshot
	stamps   []stamp
	pending  []Event

	recording sync.Mutex // held while events are handed over, to keep their order
	writing   sync.Mutex // held while skills are changed
}

// New returns a library. Nothing is read before it is asked.
func New(o Options) *Library {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Library{o: o}
}

// Snapshot returns what is on disk now.
func (l *Library) Snapshot(ctx context.Context) *Snapshot {
	arrived := l.arrivals.Add(1)
	l.mu.Lock()
	// A look that began after this call did sees all that this call may see: those
	// who wait here share one.
	if l.snap == nil || l.checked < arrived {
		l.checked = l.arrivals.Add(1)
		if l.snap == nil || l.stale() {
			l.load("changed on disk")
		}
	}
	snap, news := l.snap, len(l.pending) > 0
	l.mu.Unlock()
	if news {
		l.hand(ctx)
	}
	return snap
}

// Index is Snapshot(ctx).Index().
func (l *Library) Index(ctx context.Context) string { return l.Snapshot(ctx).Index() }

// Reload reads everything anew.
func (l *Library) Reload(ctx context.Context) *Snapshot { return l.reload(ctx, "asked for") }

func (l *Library) reload(ctx context.Context, why string, events ...Event) *Snapshot {
	l.mu.Lock()
	l.pending = append(l.pending, events...)
	l.load(why)
	snap := l.snap
	l.mu.Unlock()
	l.hand(ctx)
	return snap
}

func (l *Library) stale() bool {
	now := l.o.Now()
	for i := range l.stamps {
		if l.stamps[i].changed(now) {
			return true
		}
	}
	return false
}

// load reads everything. l.mu is held.
func (l *Library) load(why string) {
	now := l.o.Now()
	before := l.snap
	snap := &Snapshot{disabled: map[Scope][]string{}}
	l.stamps = nil
	for _, f := range l.o.States {
		file := look(f.file(), now)
		data, err := f.load()
		file.saw(data)
		l.stamps = append(l.stamps, file)
		var s state
		if err == nil {
			s, err = parseState(data)
		}
		if err != nil {
			// Which skills were switched off is not forgotten because of a slip in an editor.
			if before != nil {
				s.disabled = before.disabled[f.Scope]
			}
			snap.problems = append(snap.problems, Problem{Name: filepath.Base(f.Path), Source: string(f.Scope), Scope: f.Scope, Path: f.file(),
				Message: "it does not say which skills are switched off: " + brief.OneLine(err.Error())})
		}
		snap.disabled[f.Scope] = s.disabled
	}
	seen := map[string]bool{}
	var found [][]Skill
	for _, source := range l.o.Sources {
		// One directory can be two sources, when PicoBot runs where its home is.
		if real, err := filepath.EvalSymlinks(source.dir()); err == nil {
			if seen[real] {
				continue
			}
			seen[real] = true
		}
		s := scanSource(source, now, sourceLimits())
		found = append(found, s.skills)
		snap.problems = append(snap.problems, s.problems...)
		l.stamps = append(l.stamps, s.stamps...)
	}
	snap.fill(found)
	if more := len(snap.problems) - maxProblems; more > 0 {
		snap.problems = append(snap.problems[:maxProblems:maxProblems], Problem{Name: "…", Message: fmt.Sprintf("there are %d more problems", more)})
	}
	snap.index = index(snap.skills, l.o.MaxIndexChars, l.o.MaxListed)
	l.snap = snap
	l.pending = append(l.pending, news(before, snap, why)...)
}

// fill decides which skills count.
func (s *Snapshot) fill(found [][]Skill) {
	rank := map[string]int{}
	overrides := map[string][]string{}
	latest := map[string]Skill{}
	for i, skills := range found {
		for _, k := range skills {
			k.Disabled = s.isDisabled(k.Name)
			s.all = append(s.all, k)
			rank[k.Source] = i
			if earlier, ok := latest[k.Name]; ok {
				overrides[k.Name] = append(overrides[k.Name], earlier.Source)
			}
			latest[k.Name] = k
		}
	}
	for name, k := range latest {
		k.Overrides = overrides[name]
		s.skills = append(s.skills, k)
	}
	slices.SortFunc(s.skills, func(a, b Skill) int {
		return cmp.Or(cmp.Compare(rank[b.Source], rank[a.Source]), cmp.Compare(a.Name, b.Name))
	})
	s.byName = make(map[string]int, len(s.skills))
	for i, k := range s.skills {
		s.byName[k.Name] = i
	}
}

func (s *Snapshot) isDisabled(name string) bool {
	for _, names := range s.disabled {
		if slices.Contains(names, name) {
			return true
		}
	}
	return false
}

// news says what one snapshot has that the one before had not.
func news(before, now *Snapshot, why string) []Event {
	var events []Event
	known, wrong := map[string]bool{}, map[Problem]bool{}
	if before != nil {
		for _, k := range before.all {
			known[k.Name+"\x00"+k.Path] = true
		}
		for _, p := range before.problems {
			wrong[p] = true
		}
	}
	for _, k := range now.all {
		if !known[k.Name+"\x00"+k.Path] {
			events = append(events, Event{Skill: k.Name, Kind: Discovered, Scope: k.Scope, Detail: map[string]any{"source": k.Source, "path": k.Path}})
		}
	}
	for _, p := range now.problems {
		if !p.Note && !wrong[p] {
			events = append(events, Event{Skill: p.Name, Kind: Skipped, Scope: p.Scope, Detail: map[string]any{"source": p.Source, "path": p.Path, "problem": p.Message}})
		}
	}
	if before != nil {
		events = append(events, Event{Kind: Reloaded, Detail: map[string]any{"why": why, "skills": len(now.skills), "skipped": len(now.Skipped())}})
	}
	return events
}

const (
	handTimeout = 10 * time.Second
	maxPending  = 10_000
)

// hand gives what happened to the recorder. What it does not take is kept for the
// next time.
func (l *Library) hand(ctx context.Context) {
	l.recording.Lock()
	defer l.recording.Unlock()
	l.mu.Lock()
	events := l.pending
	l.pending = nil
	l.mu.Unlock()
	if len(events) == 0 || l.o.Record == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handTimeout)
	defer cancel()
	if err := l.o.Record(ctx, events); err != nil {
		l.o.Logger.Warn("what happened to skills is not written down yet", "events", len(events), "error", err)
		l.mu.Lock()
		l.pending = append(events, l.pending...)
		if more := len(l.pending) - maxPending; more > 0 {
			l.pending = l.pending[more:]
		}
		l.mu.Unlock()
	}
}
