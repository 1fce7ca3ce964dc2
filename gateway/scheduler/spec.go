package scheduler

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"picobot/internal/flow"
	"picobot/internal/schedule"
	"picobot/store"
)

// catchUpWindow is the shortest Temporal knows: what was due longer ago is the record's business.
const catchUpWindow = 10 * time.Second

// gapsAhead is how far ahead the slots are named that stand for times the wall clock
// leaves out.
const gapsAhead = 400 * 24 * time.Hour

// wanted is a job's schedule as Temporal should have it.
type wanted struct {
	id     string // of the schedule
	spec   client.ScheduleSpec
	action client.ScheduleWorkflowAction
	paused bool
	once   bool
	note   string // tells the schedule's version, and whose it is
}

// want says which schedule a job needs; ok is false when it needs none.
func (r *Reconciler) want(j store.Job, now time.Time) (w wanted, ok bool, err error) {
	if j.State == store.JobCompleted {
		return w, false, nil
	}
	plan, err := j.Plan()
	if err != nil {
		return w, false, err
	}
	w = wanted{
		id:     flow.JobWorkflowID(j.ID),
		spec:   specOf(plan, now),
		paused: j.State == store.JobPaused,
		once:   j.Schedule.OneShot(),
		action: client.ScheduleWorkflowAction{
			ID:                    flow.JobWorkflowID(j.ID),
			Workflow:              flow.JobWorkflow,
			Args:                  []any{flow.JobInput{JobID: j.ID, Queues: r.opts.Queues}},
			TaskQueue:             r.opts.Queues.Turns(),
			TypedSearchAttributes: temporal.NewSearchAttributes(flow.AttributeJob.ValueSet(j.ID)),
			StaticSummary:         fmt.Sprintf("%s %s", j.Kind, j.ID),
			Priority:              temporal.Priority{PriorityKey: flow.ScheduledPriority},
		},
	}
	if w.once {
		// One that is over has no schedule; one that is just due may be firing.
		if slot, _ := plan.Next(time.Time{}); slot.Before(now.Add(-r.opts.Settle)) {
			return w, false, nil
		}
	}
	text, err := json.Marshal([]any{1, w.spec, w.action.Args, w.action.TaskQueue, w.paused, catchUpWindow})
	if err != nil {
		return w, false, err
	}
	sum := sha256.Sum256(text)
	w.note = r.mark() + hex.EncodeToString(sum[:8])
	return w, true, nil
}

// mark is how notes of this installation's schedules begin.
func (r *Reconciler) mark() string { return "picobot " + r.opts.Queues.Base + " " }

// specOf is a plan in Temporal's terms. Cron goes as calendars: Temporal's own parser
// means other things by some expressions.
func specOf(p schedule.Plan, now time.Time) client.ScheduleSpec {
	s := p.Spec()
	switch s.Type {
	case schedule.Delay, schedule.At:
		slot, _ := p.Next(time.Time{})
		return client.ScheduleSpec{Calendars: []client.ScheduleCalendarSpec{moment(slot.UTC())}, TimeZoneName: "UTC"}
	case schedule.Interval:
		every := time.Duration(s.Seconds) * time.Second
		offset := time.Duration(p.Anchor().Unix()%int64(s.Seconds)) * time.Second
		return client.ScheduleSpec{
			Intervals: []client.ScheduleIntervalSpec{{Every: every, Offset: offset}},
			StartAt:   p.Anchor().Add(every),
		}
	}
	out := client.ScheduleSpec{TimeZoneName: p.Location().String()}
	cron, _ := p.Cron()
	for _, c := range cron.Calendars() {
		out.Calendars = append(out.Calendars, client.ScheduleCalendarSpec{
			Minute: ranges(c.Minutes), Hour: ranges(c.Hours), DayOfMonth: ranges(c.Days), Month: ranges(c.Months), DayOfWeek: ranges(c.Weekdays),
		})
	}
	// A day's start, so that the spec does not change with every look at it.
	from := now.UTC().Truncate(24 * time.Hour)
	for _, gap := range p.Gaps(from, from.Add(gapsAhead)) {
		out.Calendars = append(out.Calendars, moment(gap.In(p.Location())))
	}
	return out
}

// moment is a calendar that names one second.
func moment(t time.Time) client.ScheduleCalendarSpec {
	only := func(n int) []client.ScheduleRange { return []client.ScheduleRange{{Start: n}} }
	return client.ScheduleCalendarSpec{Year: only(t.Year()), Month: only(int(t.Month())), DayOfMonth: only(t.Day()),
		Hour: only(t.Hour()), Minute: only(t.Minute()), Second: only(t.Second())}
}

// ranges joins numbers that follow each other.
func ranges(numbers []int) (out []client.ScheduleRange) {
	for _, n := range numbers {
		if last := len(out) - 1; last >= 0 && out[last].End == n-1 {
			out[last].End = n
			continue
		}
		out = append(out, client.ScheduleRange{Start: n, End: n})
	}
	return out
}

func (w wanted) options() client.ScheduleOptions {
	o := client.ScheduleOptions{ID: w.id, Spec: w.spec, Action: &w.action, Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP,
		CatchupWindow: catchUpWindow, Note: w.note, Paused: w.paused}
	if w.once {
		o.RemainingActions = 1
	}
	return o
}

// schedule is what an update puts in place of what is there.
func (w wanted) schedule() *client.Schedule {
	state := &client.ScheduleState{Note: w.note, Paused: w.paused}
	if w.once {
		state.LimitedActions, state.RemainingActions = true, 1
	}
	return &client.Schedule{Spec: &w.spec, Action: &w.action, State: state,
		Policy: &client.SchedulePolicies{Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: catchUpWindow}}
}
