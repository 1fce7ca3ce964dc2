package store

import (
	"context"
	"errors"
	"time"

	"picobot/internal/schedule"
	"picobot/internal/text"
)

// Bounds of what is made up for after an outage.
const (
	maxCatchUp = 100    // runs of one job under run_all
	maxMissed  = 1000   // slots of one job that get a row each
	maxLook    = 50_000 // slots of one job that are looked at, of the oldest and of the newest
)

// AccountJob writes down what became of a job's slots up to now that nobody has run:
// skipped because the job still ran, missed, or to be caught up with (the run it
// returns, which Temporal must be told to begin). Slots after settled may still be
// started; of those only what the job's own run kept from it is written down.
func (s *Store) AccountJob(ctx context.Context, id string, settled time.Time) (catchUp *JobRun, err error) {
	err = s.update(ctx, func(t *tx) error {
		catchUp = nil
		j, err := jobByID(t, id)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil || j.State != JobActive || j.NextRunAt == 0 {
			return err
		}
		plan, err := j.Plan()
		if err != nil {
			return err
		}
		catchUp, err = t.account(&j, plan, settled)
		if err != nil {
			return err
		}
		return t.advance(j, plan)
	})
	return catchUp, err
}

func (t *tx) account(job *Job, plan schedule.Plan, settled time.Time) (catchUp *JobRun, err error) {
	due, more, err := t.unaccounted(*job, plan, time.UnixMilli(t.at))
	if err != nil {
		return nil, err
	}
	if more && len(due) > 0 {
		job.NextRunAt = due[0].UnixMilli() // those that are not listed are accounted for all the same
	}
	j := *job
	for i, slot := range due {
		now, then, err := t.overlaps(j.ID, slot.UnixMilli())
		if err != nil {
			return nil, err
		}
		if slot.After(settled) && !then {
			break
		}
		status, why := t.slotStatus(j, plan, slot, now, then)
		if status == slotWaits {
			return catchUp, nil
		}
		if status == RunRunning && j.MisfirePolicy == schedule.RunAll && len(due)-i > maxCatchUp {
			status, why = RunMissed, t.say(text.JobTooManyLate{Number: maxCatchUp})
		}
		if i == 0 && more {
			why = t.say(text.JobSlotsUnlisted{Why: why})
		}
		trigger := TriggerSchedule
		if status == RunRunning {
			trigger = TriggerCatchUp
		}
		r, err := t.insertJobRun(j, trigger, slot.UnixMilli(), status, why)
		if err != nil {
			return nil, err
		}
		if status == RunRunning {
			catchUp = &r
		}
	}
	return catchUp, nil
}

// unaccounted lists the job's slots up to a moment that have no row, the newest
// maxMissed of them; more tells that there are others before.
func (t *tx) unaccounted(j Job, plan schedule.Plan, until time.Time) (due []time.Time, more bool, err error) {
	after := time.UnixMilli(j.NextRunAt - 1)
	shortest := time.Minute
	if j.Schedule.Type == schedule.Interval {
		shortest = time.Duration(j.Schedule.Seconds) * time.Second
	}
	rows, err := t.rows(`SELECT scheduled_for FROM job_runs WHERE job_id = ? AND trigger <> 'manual' AND scheduled_for >= ?`, j.ID, after.UnixMilli())
	list, err := collect(rows, err, scanOne[int64])
	if err != nil {
		return nil, false, err
	}
	taken := map[int64]bool{}
	for _, at := range list {
		taken[at] = true
	}
	for looked := 0; ; looked++ {
		if far := until.Add(-maxLook * shortest); looked == maxLook && far.After(after) {
			after, more = far, true // slots may be months apart: only where there are many are some left out
		}
		slot, ok := plan.Next(after)
		if !ok || slot.After(until) {
			break
		}
		if after = slot; !taken[slot.UnixMilli()] {
			due = append(due, slot)
		}
	}
	if len(due) > maxMissed {
		due, more = due[len(due)-maxMissed:], true
	}
	return due, more, nil
}
