package schedule

import (
	"fmt"
	"time"
)

// horizon is when plans end: Temporal's calendars know no year after it.
var horizon = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// Plan knows when a job is due: its slots, all at whole seconds.
//
// A delay is due once, so many seconds after its anchor. An interval is due every so
// many seconds after its anchor, whatever clocks do. A cron is due when the clock on
// the wall of its zone shows a time that it names. Where clocks are set, a fixed time of
// day is due once all the same: a time that is left out, at the first moment after; a
// time that comes twice, the first time. One whose minute or hour begins with a star
// follows time as it passes: nothing is added where clocks are set forward, and what
// comes twice is due twice.
type Plan struct {
	spec   Spec
	loc    *time.Location
	anchor time.Time // of delays and intervals
	at     time.Time // of what is due once
	cron   Cron
}

// NewPlan returns the plan of a schedule. zone is used where the schedule names none;
// anchor is when the job was made, or its schedule changed last.
func NewPlan(s Spec, zone string, anchor time.Time) (Plan, error) {
	if s.TimeZone != "" {
		zone = s.TimeZone
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return Plan{}, fmt.Errorf("there is no time zone %s", clip(zone))
	}
	if whole := anchor.Truncate(time.Second); whole.Before(anchor) {
		anchor = whole.Add(time.Second)
	}
	p := Plan{spec: s, loc: loc, anchor: anchor.UTC()}
	switch s.Type {
	case Delay:
		p.at = p.anchor.Add(time.Duration(s.Seconds) * time.Second)
	case At:
		if p.at, err = parseTime(s.Time, loc); err != nil {
			return Plan{}, err
		}
		if whole := p.at.Truncate(time.Second); whole.Before(p.at) {
			p.at = whole.Add(time.Second)
		}
	case CronType:
		if p.cron, err = ParseCron(s.Expression); err != nil {
			return Plan{}, err
		}
	case Interval:
	default:
		return Plan{}, fmt.Errorf("there is no schedule of type %s", clip(s.Type))
	}
	return p, nil
}

// Location is the zone the job's times are shown in.
func (p Plan) Location() *time.Location { return p.loc }

// Spec is the schedule the plan was made from.
func (p Plan) Spec() Spec { return p.spec }

// Anchor is the whole second that an interval counts from.
func (p Plan) Anchor() time.Time { return p.anchor }

// Cron is the expression of a plan that has one.
func (p Plan) Cron() (Cron, bool) { return p.cron, p.spec.Type == CronType }

// Next returns the first slot after a moment; ok is false when there is none.
func (p Plan) Next(after time.Time) (slot time.Time, ok bool) {
	switch p.spec.Type {
	case Delay, At:
		return p.at, p.at.After(after) && p.at.Before(horizon)
	case Interval:
		every := time.Duration(p.spec.Seconds) * time.Second
		n := int64(1)
		if since := after.Sub(p.anchor); since >= 0 {
			n = int64(since/every) + 1
		}
		slot = p.anchor.Add(time.Duration(n) * every)
	default:
		if slot, ok = p.nextCron(after); !ok {
			return time.Time{}, false
		}
	}
	return slot, slot.Before(horizon)
}

// Is reports whether t is a slot.
func (p Plan) Is(t time.Time) bool {
	slot, ok := p.Next(t.Add(-time.Nanosecond))
	return ok && slot.Equal(t)
}

// Period is the time from a slot to the next, 0 when there is none.
func (p Plan) Period(slot time.Time) time.Duration {
	next, ok := p.Next(slot)
	if !ok {
		return 0
	}
	return next.Sub(slot)
}

// Upcoming lists the next n slots after a moment.
func (p Plan) Upcoming(after time.Time, n int) []time.Time {
	var out []time.Time
	for len(out) < n {
		slot, ok := p.Next(after)
		if !ok {
			break
		}
		out, after = append(out, slot), slot
	}
	return out
}

// nextCron looks for the next slot day by day.
func (p Plan) nextCron(after time.Time) (time.Time, bool) {
	local := after.In(p.loc)
	y, m, d := local.Date()
	from := local.Hour()*60 + local.Minute() + 1 // minute of the day
	for day := time.Date(y, m, d, 0, 0, 0, 0, time.UTC); ; day = day.AddDate(0, 0, 1) {
		switch {
		case !day.Before(horizon):
			return time.Time{}, false
		case !p.plain(day):
			if p.near(day) {
				noon := time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, p.loc)
				if begin := noon.Add(-36 * time.Hour); begin.After(after) {
					after = begin // until then nothing is due
				}
				return p.nextNearChange(after)
			}
		case p.cron.day(day):
			if minute, ok := p.cron.from(from); ok {
				return time.Date(day.Year(), day.Month(), day.Day(), 0, minute, 0, 0, p.loc).UTC(), true
			}
		}
		from = 0
	}
}

// nextNearChange is nextCron where clocks are set: it goes through the minutes. Where
// none is due until clocks are left alone again, nextCron goes on.
func (p Plan) nextNearChange(after time.Time) (time.Time, bool) {
	const span = 24 * time.Hour
	t := after.Truncate(time.Minute)
	for until := t.Add(span); t.Before(until); {
		next := t.Add(time.Minute)
		// Clocks were set at seconds within a minute, long ago.
		if _, change := t.In(p.loc).ZoneBounds(); change.After(t) && change.Before(next) {
			next = change
		}
		t = next.Truncate(time.Second)
		if t.After(after) && p.due(t) {
			return t.UTC(), t.Before(horizon)
		}
	}
	return p.nextCron(t)
}

// due reports whether a time that the expression names comes at t.
func (p Plan) due(t time.Time) bool {
	if p.shows(t) {
		if p.cron.wild {
			return true
		}
		at, _ := moments(t.In(p.loc), p.loc)
		return at[0].Equal(t)
	}
	return p.standsIn(t)
}

// standsIn reports whether t is the first moment after fixed times that are left out.
func (p Plan) standsIn(t time.Time) bool {
	start, _ := t.In(p.loc).ZoneBounds()
	if p.cron.wild || !start.Equal(t) {
		return false
	}
	_, before := t.Add(-time.Nanosecond).In(p.loc).Zone()
	_, since := t.In(p.loc).Zone()
	end := wallOf(t, since)
	for w := wallOf(t, before).Truncate(time.Minute); w.Before(end); w = w.Add(time.Minute) {
		if p.names(w) {
			return true
		}
	}
	return false
}

func wallOf(t time.Time, offset int) time.Time {
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// near reports whether a date near this one is due: those are the dates whose times
// may come when this date does.
func (p Plan) near(day time.Time) bool {
	for i := -2; i <= 2; i++ {
		if p.cron.day(day.AddDate(0, 0, i)) {
			return true
		}
	}
	return false
}

// plain reports that no clock is set on a date, nor near it.
func (p Plan) plain(day time.Time) bool {
	noon := time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, p.loc)
	start, end := noon.ZoneBounds()
	const near = 50 * time.Hour
	return (start.IsZero() || noon.Sub(start) > near) && (end.IsZero() || end.Sub(noon) > near)
}

// Gaps lists the slots from a moment on that stand for times the wall clock leaves
// out: a calendar of wall clock times does not come to them.
func (p Plan) Gaps(from, until time.Time) (out []time.Time) {
	if p.spec.Type != CronType || p.cron.wild {
		return nil
	}
	for t := from; ; {
		_, end := t.In(p.loc).ZoneBounds()
		if end.IsZero() || !end.Before(until) {
			return out
		}
		if t = end; p.standsIn(end) && !p.shows(end) {
			out = append(out, end.UTC())
		}
	}
}

// shows reports whether the wall clock shows one of the expression's times at t.
func (p Plan) shows(t time.Time) bool { return p.names(t.In(p.loc)) }

// names reports whether the expression names a time of the wall clock.
func (p Plan) names(w time.Time) bool {
	return w.Second() == 0 && p.cron.hours&(1<<w.Hour()) != 0 && p.cron.minutes&(1<<w.Minute()) != 0 && p.cron.day(w)
}
