package store

import (
	"context"
)

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
