package store

import (
	"errors"
	"fmt"
	"time"

	"picobot/internal/schedule"
)

// maxChatJobs bounds the jobs that agents make in one chat.
const maxChatJobs = 100

// Place is where the turn is, and in whose name.
func (t *ToolTx) Place() schedule.Place {
	p := schedule.Place{Target: schedule.Target{Channel: t.Session.Channel, ChatID: t.Session.ChatID}, SenderID: t.Inbound.SenderID}
	if t.Job != nil { // what a job makes speaks to whom it speaks to
		p.InJob = true
		p.Target = schedule.Target{Channel: t.Job.Job.Target.Channel, ChatID: t.Job.Job.Target.ChatID}
	}
	return p
}

func (t *ToolTx) origin() JobOrigin {
	p := t.Place()
	return JobOrigin{Channel: p.Target.Channel, ChatID: p.Target.ChatID, SenderID: p.SenderID}
}

func (t *ToolTx) view(j Job) schedule.View {
	return schedule.View{Job: j.Job, State: j.State, LastStatus: j.LastStatus, NextRuns: j.NextRuns(time.UnixMilli(t.t.at), 3)}
}

// ListJobs lists the jobs that agents made in the turn's chat.
func (t *ToolTx) ListJobs() ([]schedule.View, error) {
	o := t.origin()
	rows, err := t.t.rows(`SELECT `+jobColumns+` FROM scheduler_jobs WHERE source = 'agent' AND origin_channel = ? AND origin_chat_id = ? ORDER BY id`, o.Channel, o.ChatID)
	jobs, err := collect(rows, err, scanJob)
	var out []schedule.View
	for _, j := range jobs {
		out = append(out, t.view(j))
	}
	return out, err
}

// own returns a job of the turn's chat; others it does not tell from those that are not there.
func (t *ToolTx) own(id string) (Job, error) {
	j, err := jobByID(t.t, id)
	if errors.Is(err, ErrNotFound) || err == nil && (j.Source != JobAgent || !sameChat(j.Origin, t.origin())) {
		return j, fmt.Errorf("this chat has no job %q: action list shows those it has", id)
	}
	return j, err
}

// GetJob returns a job of the turn's chat.
func (t *ToolTx) GetJob(id string) (schedule.View, error) {
	j, err := t.own(id)
	return t.view(j), err
}

// PutJob makes or changes a job of the turn's chat.
func (t *ToolTx) PutJob(j schedule.Job) (schedule.View, bool, error) {
	o := t.origin()
	var n int
	if err := t.t.row(`SELECT count(*) FROM scheduler_jobs WHERE source = 'agent' AND state <> 'completed' AND origin_channel = ? AND origin_chat_id = ? AND id <> ?`,
		o.Channel, o.ChatID, j.ID).Scan(&n); err != nil {
		return schedule.View{}, false, err
	}
	if n >= maxChatJobs {
		return schedule.View{}, false, fmt.Errorf("this chat has %d jobs, the most there may be: delete some first", n)
	}
	job, created, err := t.t.putJob(PutJob{Job: j, Source: JobAgent, CreatedBy: t.Session.ID, Origin: o})
	return t.view(job), created, err
}

// DeleteJob deletes a job of the turn's chat.
func (t *ToolTx) DeleteJob(id string) error {
	if _, err := t.own(id); err != nil {
		return err
	}
	return t.t.deleteJob(id)
}

// PauseJob pauses a job of the turn's chat.
func (t *ToolTx) PauseJob(id string) (schedule.View, error) { return t.change(id, (*tx).pauseJob) }

// ResumeJob makes a paused job of the turn's chat due again.
func (t *ToolTx) ResumeJob(id string) (schedule.View, error) { return t.change(id, (*tx).resumeJob) }

func (t *ToolTx) change(id string, change func(*tx, Job) error) (schedule.View, error) {
	j, err := t.own(id)
	if err != nil {
		return schedule.View{}, err
	}
	if err := change(t.t, j); err != nil {
		return schedule.View{}, err
	}
	j, err = jobByID(t.t, id)
	return t.view(j), err
}
