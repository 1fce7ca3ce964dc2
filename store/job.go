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
	ErrJobOwned = errors.New("the job belongs to the configuration: change it there, or pause it")
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

// PutJob is a job to be made, or changed if one with its id is there.
type PutJob struct {
	Job       schedule.Job
	Source    string
	CreatedBy string
	Origin    JobOrigin
	Text      string // of a job of the configuration: what it says there
}

// PutJob makes or changes a job, once it is on the disk. Delays count anew with each
// put, intervals only when the schedule has changed. It fails with ErrJobOwned or
// ErrJobForeign when the job that is there may not be changed by this source.
func (s *Store) PutJob(ctx context.Context, p PutJob) (job Job, created bool, err error) {
	err = s.update(ctx, func(t *tx) (err error) {
		job, created, err = t.putJob(p)
		return err
	})
	return job, created, err
}

func (t *tx) putJob(p PutJob) (Job, bool, error) {
	old, err := jobByID(t, p.Job.ID)
	created := errors.Is(err, ErrNotFound)
	if err != nil && !created {
		return old, false, err
	}
	if !created {
		if err := mayPut(old, p); err != nil {
			return old, false, err
		}
		if p.Source == JobConfig && old.Source == JobConfig && old.sourceText == p.Text {
			return old, false, nil
		}
	}
	j := Job{Job: p.Job, Source: p.Source, CreatedBy: p.CreatedBy, Origin: p.Origin, State: JobActive,
		AnchoredAt: t.at, CreatedAt: t.at, UpdatedAt: t.at}
	j.MisfirePolicy = j.Policy(t.s.scheduler.MisfirePolicy)
	same := !created && old.Schedule == j.Schedule
	if !created {
		j.CreatedAt, j.LastRunAt, j.LastStatus = old.CreatedAt, old.LastRunAt, old.LastStatus
		if same && (j.Schedule.Type != schedule.Delay || p.Source == JobConfig) {
			j.AnchoredAt = old.AnchoredAt
		}
	}
	switch {
	case !j.Enabled:
		j.State = JobPaused
	case same && old.State == JobCompleted && j.AnchoredAt == old.AnchoredAt && p.Source == JobConfig:
		j.State = JobCompleted
	case same && old.State == JobActive && j.AnchoredAt == old.AnchoredAt:
		j.NextRunAt = old.NextRunAt
	default:
		if j.NextRunAt, err = nextSlot(j, t.at); err != nil {
			return j, false, err
		}
		if j.NextRunAt == 0 {
			j.State = JobCompleted
		}
	}
	return j, created, t.writeJob(j, p.Text)
}

func mayPut(old Job, p PutJob) error {
	owned := old.Source == JobConfig || old.Source == JobBuiltin
	switch {
	case p.Source == JobAgent && (old.Source != JobAgent || !sameChat(old.Origin, p.Origin)):
		return ErrJobForeign
	case p.Source == JobAPI && owned, p.Source == JobConfig && old.Source == JobBuiltin:
		return ErrJobOwned
	}
	return nil
}

func sameChat(a, b JobOrigin) bool { return a.Channel == b.Channel && a.ChatID == b.ChatID }

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

func (t *tx) writeJob(j Job, text string) error {
	spec, err := json.Marshal(j.Schedule)
	if err != nil {
		return err
	}
	target, err := json.Marshal(j.Target)
	if err != nil {
		return err
	}
	payload, err := json.Marshal(j.Payload)
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO scheduler_jobs (id, kind, schedule, target, payload, time_zone, misfire_policy, misfire_grace_seconds, state, source, created_by,
			origin_channel, origin_chat_id, origin_sender_id, last_run_at, last_status, next_run_at, anchored_at, created_at, updated_at, source_text, rev)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, `+nextJobRev+`)
		ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, schedule = excluded.schedule, target = excluded.target, payload = excluded.payload,
			time_zone = excluded.time_zone, misfire_policy = excluded.misfire_policy, misfire_grace_seconds = excluded.misfire_grace_seconds,
			state = excluded.state, source = excluded.source, created_by = excluded.created_by, origin_channel = excluded.origin_channel,
			origin_chat_id = excluded.origin_chat_id, origin_sender_id = excluded.origin_sender_id, next_run_at = excluded.next_run_at,
			anchored_at = excluded.anchored_at, updated_at = excluded.updated_at, source_text = excluded.source_text, rev = excluded.rev`,
		j.ID, j.Kind, string(spec), string(target), string(payload), j.Schedule.TimeZone, j.MisfirePolicy, j.MisfireGraceSeconds, j.State, j.Source, nullString(j.CreatedBy),
		j.Origin.Channel, j.Origin.ChatID, j.Origin.SenderID, nullInt(j.LastRunAt), nullString(j.LastStatus), nullInt(j.NextRunAt), j.AnchoredAt, j.CreatedAt, j.UpdatedAt, text, t.at)
	if err != nil {
		return fmt.Errorf("write job %s: %w", j.ID, err)
	}
	t.jobs = true
	return nil
}

// DeleteJob deletes a job; its runs stay, and one that is under way goes on. It fails
// with ErrNotFound, and with ErrJobOwned for jobs of the configuration.
func (s *Store) DeleteJob(ctx context.Context, id string) error {
	return s.update(ctx, func(t *tx) error {
		j, err := jobByID(t, id)
		if err != nil {
			return err
		}
		if j.Source == JobConfig || j.Source == JobBuiltin {
			return ErrJobOwned
		}
		return t.deleteJob(id)
	})
}

func (t *tx) deleteJob(id string) error {
	_, err := t.exec(`DELETE FROM scheduler_jobs WHERE id = ?`, id)
	t.jobs = true
	return err
}

// PauseJob keeps a job from being due until it is resumed. What is paused stays so.
func (s *Store) PauseJob(ctx context.Context, id string) (Job, error) {
	return s.changeJob(ctx, id, (*tx).pauseJob)
}

// ResumeJob makes a paused job due again. Slots that came meanwhile are not made up
// for, but for the one of a job that is due once.
func (s *Store) ResumeJob(ctx context.Context, id string) (Job, error) {
	return s.changeJob(ctx, id, (*tx).resumeJob)
}

func (s *Store) changeJob(ctx context.Context, id string, change func(*tx, Job) error) (Job, error) {
	var out Job
	err := s.update(ctx, func(t *tx) error {
		j, err := jobByID(t, id)
		if err != nil {
			return err
		}
		if err := change(t, j); err != nil {
			return err
		}
		out, err = jobByID(t, id)
		return err
	})
	return out, err
}

func (t *tx) pauseJob(j Job) error {
	switch j.State {
	case JobPaused:
		return nil
	case JobCompleted:
		return ErrJobCompleted
	}
	return t.setJobState(j.ID, JobPaused, 0)
}

func (t *tx) resumeJob(j Job) error {
	switch j.State {
	case JobActive:
		return nil
	case JobCompleted:
		return ErrJobCompleted
	}
	after := t.at
	if j.Schedule.OneShot() {
		after = j.AnchoredAt - 1 // also when it has passed
	}
	next, err := nextSlot(j, after)
	if err != nil {
		return err
	}
	if next != 0 && j.Schedule.OneShot() {
		ran, err := t.slotTaken(j.ID, next)
		if err != nil {
			return err
		}
		if ran {
			return t.setJobState(j.ID, JobCompleted, 0)
		}
	}
	return t.setJobState(j.ID, JobActive, next)
}

func (t *tx) setJobState(id, state string, next int64) error {
	t.jobs = true
	_, err := t.exec(`UPDATE scheduler_jobs SET state = ?, next_run_at = ?, updated_at = ?, rev = `+nextJobRev+` WHERE id = ?`, state, nullInt(next), t.at, t.at, id)
	return err
}

// ReplaceOwned takes over the jobs of the configuration, or the built in ones: those
// that are not among them are deleted. A job that nobody changed there stays as it is,
// paused or not.
func (s *Store) ReplaceOwned(ctx context.Context, source string, jobs []PutJob) error {
	return s.update(ctx, func(t *tx) error {
		keep := map[string]bool{}
		for _, p := range jobs {
			p.Source = source
			if _, _, err := t.putJob(p); err != nil {
				return fmt.Errorf("job %s: %w", p.Job.ID, err)
			}
			keep[p.Job.ID] = true
		}
		rows, err := t.rows(`SELECT id FROM scheduler_jobs WHERE source = ?`, source)
		ids, err := collect(rows, err, scanOne[string])
		if err != nil {
			return err
		}
		for _, id := range ids {
			if !keep[id] {
				if err := t.deleteJob(id); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

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
