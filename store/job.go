package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"picobot/internal/schedule"
)

// States of a job.
const (
	JobActive    = "active"
	JobPaused    = "paused"
	JobCompleted = "completed"
)

// Sources of jobs.
const (
	JobBuiltin = "builtin"
	JobConfig  = "config"
	JobAPI     = "api" // HTTP and the command line
	JobAgent   = "agent"
)

// Errors about jobs.
var (
	// ErrJobOwned: the job is the configuration's or built in, and changed there only.
	ErrJobOwned = errors.New("the job belongs to the configuration or is built in: change it in the configuration, or pause it")
	// ErrJobForeign: another chat's people made a job with this id.
	ErrJobForeign = errors.New("there is a job with this id that is not this chat's: choose another id")
	// ErrJobRunning: the job runs now, and it never overlaps itself.
	ErrJobRunning = errors.New("the job is running: wait until the run has ended, or stop its turn")
	// ErrJobCompleted: the job was due once and has been.
	ErrJobCompleted = errors.New("the job has been due and will not be again: put it with a new time, or run it now")
)

// Job is a scheduled job as the record has it. Its MisfirePolicy is never empty.
type Job struct {
	schedule.Job
	State      string
	Source     string
	CreatedBy  string // who made it: a session's id for an agent's
	Origin     JobOrigin
	LastRunAt  int64
	LastStatus string
	NextRunAt  int64 // the first slot that is not accounted for; 0 = none
	AnchoredAt int64
	CreatedAt  int64
	UpdatedAt  int64
	Rev        int64
	sourceText string
}

// JobOrigin is the chat and person a job came from, empty unless an agent made it.
type JobOrigin struct{ Channel, ChatID, SenderID string }

// Plan says when the job is due.
func (j Job) Plan() (schedule.Plan, error) {
	return schedule.NewPlan(j.Schedule, "UTC", time.UnixMilli(j.AnchoredAt))
}

// NextRuns lists the next slots of an active job after a moment, as RFC 3339 in its zone.
func (j Job) NextRuns(after time.Time, n int) []string {
	out := []string{}
	if j.State != JobActive {
		return out
	}
	plan, err := j.Plan()
	if err != nil {
		return out
	}
	for _, slot := range plan.Upcoming(after, n) {
		out = append(out, slot.In(plan.Location()).Format(time.RFC3339))
	}
	return out
}

const jobColumns = `id, kind, schedule, target, payload, time_zone, misfire_policy, misfire_grace_seconds, state, source, coalesce(created_by, ''),
	origin_channel, origin_chat_id, origin_sender_id, coalesce(last_run_at, 0), coalesce(last_status, ''), coalesce(next_run_at, 0),
	anchored_at, created_at, updated_at, rev, source_text`

func scanJob(r scanner) (Job, error) {
	var j Job
	var spec, target, payload, zone string
	err := r.Scan(&j.ID, &j.Kind, &spec, &target, &payload, &zone, &j.MisfirePolicy, &j.MisfireGraceSeconds, &j.State, &j.Source, &j.CreatedBy,
		&j.Origin.Channel, &j.Origin.ChatID, &j.Origin.SenderID, &j.LastRunAt, &j.LastStatus, &j.NextRunAt,
		&j.AnchoredAt, &j.CreatedAt, &j.UpdatedAt, &j.Rev, &j.sourceText)
	if err != nil {
		return j, found(err)
	}
	for _, part := range []struct {
		text string
		into any
	}{{spec, &j.Schedule}, {target, &j.Target}, {payload, &j.Payload}} {
		if err := json.Unmarshal([]byte(part.text), part.into); err != nil {
			return j, fmt.Errorf("job %s: %w", j.ID, err)
		}
	}
	j.Schedule.TimeZone = zone
	j.Enabled = j.State != JobPaused
	return j, nil
}

func jobByID(q querier, id string) (Job, error) {
	return scanJob(q.row(`SELECT `+jobColumns+` FROM scheduler_jobs WHERE id = ?`, id))
}

// Job returns the job with this id, or ErrNotFound.
func (s *Store) Job(ctx context.Context, id string) (Job, error) {
	var out Job
	err := s.view(ctx, func(q querier) (err error) {
		out, err = jobByID(q, id)
		return err
	})
	return out, err
}

// Jobs lists all jobs by id.
func (s *Store) Jobs(ctx context.Context) ([]Job, error) {
	var out []Job
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT ` + jobColumns + ` FROM scheduler_jobs ORDER BY id`)
		out, err = collect(rows, err, scanJob)
		return err
	})
	return out, err
}

// nextSlot is the first slot of the job after a moment (ms), 0 = none.
func nextSlot(j Job, after int64) (int64, error) {
	plan, err := j.Plan()
	if err != nil {
		return 0, fmt.Errorf("job %s: %w", j.ID, err)
	}
	slot, ok := plan.Next(time.UnixMilli(after))
	if !ok {
		return 0, nil
	}
	return slot.UnixMilli(), nil
}

// nextJobRev takes the time (ms): a job that is made after the newest one was deleted
// must not get the number that one had.
const nextJobRev = `(SELECT max(coalesce(max(rev), 0) + 1, ? * 1000) FROM scheduler_jobs)`

// JobsVersion is a mark that changes with every change of a job that Temporal must
// hear of, whichever process made it.
func (s *Store) JobsVersion(ctx context.Context) (string, error) {
	var rev, count, running int64
	err := s.view(ctx, func(q querier) error {
		return q.row(`SELECT (SELECT coalesce(max(rev), 0) FROM scheduler_jobs), (SELECT count(*) FROM scheduler_jobs),
			(SELECT count(*) FROM job_runs WHERE status = 'running' AND workflow_id IS NULL)`).Scan(&rev, &count, &running)
	})
	return fmt.Sprintf("%d.%d.%d", rev, count, running), err
}

// DueJobs lists the ids of active jobs with a slot up to a moment that is not
// accounted for.
func (s *Store) DueJobs(ctx context.Context, until time.Time) ([]string, error) {
	var out []string
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT id FROM scheduler_jobs WHERE state = 'active' AND next_run_at <= ? ORDER BY next_run_at`, until.UnixMilli())
		out, err = collect(rows, err, scanOne[string])
		return err
	})
	return out, err
}

// ScheduleLag is how long the slot that waits longest has been due.
func (s *Store) ScheduleLag(ctx context.Context) (time.Duration, error) {
	now := s.now().UnixMilli()
	first := now
	err := s.view(ctx, func(q querier) error {
		return q.row(`SELECT coalesce(min(next_run_at), ?1) FROM scheduler_jobs WHERE state = 'active' AND next_run_at < ?1`, now).Scan(&first)
	})
	return time.Duration(now-first) * time.Millisecond, err
}
