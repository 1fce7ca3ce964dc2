package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"picobot/internal/schedule"
	"picobot/internal/text"
)

// What brought a run about.
const (
	TriggerSchedule = "schedule"
	TriggerManual   = "manual"
	TriggerCatchUp  = "catch_up"
)

// States of runs, and a job's last_status.
const (
	RunRunning   = "running"
	RunCompleted = "completed"
	RunFailed    = "failed"
	RunSkipped   = "skipped" // the job still ran
	RunMissed    = "missed"  // it could not start in time
)

// JobRun is one slot of a job and what became of it, or one run by hand.
type JobRun struct {
	ID           string
	JobID        string
	Trigger      string
	ScheduledFor int64
	StartedAt    int64
	FinishedAt   int64
	Status       string
	Error        string
	SessionID    string
	TurnID       string
	WorkflowID   string
	RunID        string
	Job          schedule.Job // as it was when the run began
	Claims       int
	StopReason   string
}

// Ended reports whether the run has come to an end.
func (r JobRun) Ended() bool { return r.Status != RunRunning }

const jobRunColumns = `id, job_id, trigger, scheduled_for, coalesce(started_at, 0), coalesce(finished_at, 0), status, coalesce(error, ''),
	coalesce(session_id, ''), coalesce(turn_id, ''), coalesce(workflow_id, ''), coalesce(run_id, ''), job, claims, stop_reason`

func scanJobRun(r scanner) (JobRun, error) {
	var j JobRun
	var job string
	err := r.Scan(&j.ID, &j.JobID, &j.Trigger, &j.ScheduledFor, &j.StartedAt, &j.FinishedAt, &j.Status, &j.Error,
		&j.SessionID, &j.TurnID, &j.WorkflowID, &j.RunID, &job, &j.Claims, &j.StopReason)
	if err != nil {
		return j, found(err)
	}
	if err := json.Unmarshal([]byte(job), &j.Job); err != nil {
		return j, fmt.Errorf("job run %s: %w", j.ID, err)
	}
	return j, nil
}

func jobRunByID(q querier, id string) (JobRun, error) {
	return scanJobRun(q.row(`SELECT `+jobRunColumns+` FROM job_runs WHERE id = ?`, id))
}

// jobOfTurn returns the run of a job that a turn is, nil when it is none.
func jobOfTurn(q querier, turnID string) (*JobRun, error) {
	r, err := scanJobRun(q.row(`SELECT `+jobRunColumns+` FROM job_runs WHERE turn_id = ?`, turnID))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return &r, err
}

// JobRun returns the run with this id, or ErrNotFound.
func (s *Store) JobRun(ctx context.Context, id string) (JobRun, error) {
	var out JobRun
	err := s.view(ctx, func(q querier) (err error) {
		out, err = jobRunByID(q, id)
		return err
	})
	return out, err
}

// JobRuns lists a job's runs, the newest first; before (ms, 0 = now) is where an
// earlier page ended, with its last id.
func (s *Store) JobRuns(ctx context.Context, jobID string, before int64, beforeID string, max int) ([]JobRun, error) {
	var out []JobRun
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT `+jobRunColumns+` FROM job_runs WHERE job_id = ?1 AND (?2 = 0 OR scheduled_for < ?2 OR (scheduled_for = ?2 AND id < ?3))
			ORDER BY scheduled_for DESC, id DESC LIMIT ?4`, jobID, before, beforeID, limit(max))
		out, err = collect(rows, err, scanJobRun)
		return err
	})
	return out, err
}

// RunningJobRuns lists the runs that have not ended.
func (s *Store) RunningJobRuns(ctx context.Context) ([]JobRun, error) {
	var out []JobRun
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT ` + jobRunColumns + ` FROM job_runs WHERE status = 'running' ORDER BY scheduled_for`)
		out, err = collect(rows, err, scanJobRun)
		return err
	})
	return out, err
}

// insertJobRun writes a run of a job.
func (t *tx) insertJobRun(j Job, trigger string, slot int64, status, why string) (JobRun, error) {
	r := JobRun{ID: t.s.ids.New(), JobID: j.ID, Trigger: trigger, ScheduledFor: slot, Status: status, Error: why, Job: j.Job}
	if status == RunRunning {
		r.StartedAt = t.at
	} else {
		r.FinishedAt = t.at
	}
	job, err := json.Marshal(j.Job)
	if err != nil {
		return r, err
	}
	if _, err := t.exec(`INSERT INTO job_runs (id, job_id, trigger, scheduled_for, started_at, finished_at, status, error, job) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.JobID, r.Trigger, r.ScheduledFor, nullInt(r.StartedAt), nullInt(r.FinishedAt), r.Status, nullString(why), string(job)); err != nil {
		return r, fmt.Errorf("record run of job %s: %w", j.ID, err)
	}
	if status == RunRunning {
		t.jobs = true
	}
	_, err = t.exec(`UPDATE scheduler_jobs SET last_status = ?, last_run_at = coalesce(?, last_run_at) WHERE id = ?`, status, nullInt(r.StartedAt), j.ID)
	return r, err
}

// RequestJobRun asks for a job to be run now, whatever its state. It fails with
// ErrNotFound, and with ErrJobRunning while the job runs.
func (s *Store) RequestJobRun(ctx context.Context, jobID string) (JobRun, error) {
	var out JobRun
	err := s.update(ctx, func(t *tx) error {
		j, err := jobByID(t, jobID)
		if err != nil {
			return err
		}
		running, err := t.isRunning(jobID)
		if err != nil {
			return err
		}
		if running {
			return ErrJobRunning
		}
		out, err = t.insertJobRun(j, TriggerManual, t.at, RunRunning, "")
		return err
	})
	return out, err
}

func (t *tx) isRunning(jobID string) (running bool, err error) {
	err = t.row(`SELECT EXISTS (SELECT 1 FROM job_runs WHERE job_id = ? AND status = 'running')`, jobID).Scan(&running)
	return running, err
}

// EndJobRun ends a run that is no turn: as completed, or as failed with why. One that
// has ended stays as it is.
func (s *Store) EndJobRun(ctx context.Context, runID, status, why string) (JobRun, error) {
	var out JobRun
	err := s.update(ctx, func(t *tx) error {
		r, err := jobRunByID(t, runID)
		if err != nil {
			return err
		}
		if !r.Ended() {
			if err := t.endJobRun(r, status, why); err != nil {
				return err
			}
		}
		out, err = jobRunByID(t, runID)
		return err
	})
	return out, err
}

// endJobRun ends a run and what hangs on it: the job's last status, a job that is due
// once, and the notice of a failure that nobody would hear of.
func (t *tx) endJobRun(r JobRun, status, why string) error {
	if _, err := t.exec(`UPDATE job_runs SET status = ?, error = ?, finished_at = ? WHERE id = ?`, status, nullString(why), t.at, r.ID); err != nil {
		return fmt.Errorf("end run %s: %w", r.ID, err)
	}
	t.jobs = true
	if _, err := t.exec(`UPDATE scheduler_jobs SET last_status = ? WHERE id = ?`, status, r.JobID); err != nil {
		return err
	}
	if r.Trigger != TriggerManual {
		if err := t.completeJob(r.JobID); err != nil {
			return err
		}
	}
	silent := r.Job.Kind == schedule.SilentAgentTask || (r.Job.Kind == schedule.AgentTask && r.StopReason != "")
	if status != RunFailed || !silent {
		return nil
	}
	_, err := t.enqueue(Outbound{Channel: r.Job.Target.Channel, ChatID: r.Job.Target.ChatID, SessionID: r.SessionID, Origin: r.ID, TurnID: r.TurnID,
		Content: t.jobNotice(r, why), Unnoted: true})
	return err
}

// jobNotice is what a chat is told of a run that failed.
func (t *tx) jobNotice(r JobRun, why string) string {
	if r.TurnID != "" {
		return t.say(text.JobFailedTurn{Job: r.JobID, Reason: why, Turn: r.TurnID})
	}
	return t.say(text.JobFailed{Job: r.JobID, Reason: why})
}

// say says how a run ended.
func (t *tx) say(m text.Message) string {
	texts := t.s.scheduler.Texts
	if texts == nil {
		texts = text.For(text.English)
	}
	return texts.Say(m)
}

// completeJob ends a job that has no slot any more.
func (t *tx) completeJob(id string) error {
	j, err := jobByID(t, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil || j.State != JobActive || j.NextRunAt != 0 {
		return err
	}
	running, err := t.isRunning(id)
	if err != nil || running {
		return err
	}
	return t.setJobState(id, JobCompleted, 0)
}

// endRunOf ends the run that a turn is, if it is one, with the turn.
func (t *tx) endRunOf(turnID string, status, why string) error {
	r, err := jobOfTurn(t, turnID)
	if r == nil || err != nil || r.Ended() {
		return err
	}
	if r.StopReason != "" && status == RunFailed {
		why = r.StopReason
	}
	return t.endJobRun(*r, status, why)
}

// StopJobRun notes why a run is to stop and asks for its turn to be cancelled. A run
// that has no turn ends at once.
func (s *Store) StopJobRun(ctx context.Context, runID, why string) (turnID string, err error) {
	err = s.update(ctx, func(t *tx) error {
		turnID = ""
		r, err := jobRunByID(t, runID)
		if err != nil || r.Ended() {
			return err
		}
		if _, err := t.exec(`UPDATE job_runs SET stop_reason = ? WHERE id = ?`, why, runID); err != nil {
			return err
		}
		if r.TurnID == "" {
			return t.endJobRun(r, RunFailed, why)
		}
		c, err := t.cancel(r.SessionID, r.TurnID)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if c.Running {
			turnID = r.TurnID
		}
		return err
	})
	return turnID, err
}
