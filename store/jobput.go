package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"picobot/internal/schedule"
)

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
