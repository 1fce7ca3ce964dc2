package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"picobot/internal/chat"
	"picobot/internal/schedule"
	"picobot/internal/text"
)

// maxJobClaims: a run that was begun this often without coming to an end takes its
// process down each time; it is given up.
const maxJobClaims = 5

// early is how much before its slot a run may begin: clocks of two machines differ.
const early = 2 * time.Second

// BeginJob says which run of a job begins: one that is written down (RunID), or the
// slot of a schedule.
type BeginJob struct {
	JobID string
	RunID string
	Slot  int64 // ms
	// Since is when there was somebody again to start slots, in ms: one from before is made up for.
	Since      int64
	WorkflowID string
	TemporalID string // of the workflow's run
}

// BeginJobRun begins a run, or again one that was begun, and hands its work over: a
// message is in the outbox, a task among its session's waiting turns. ok is false when
// there is nothing to do: the job is gone or paused, the slot is none or has had its
// run, comes too late or while the job runs (which is written down).
func (s *Store) BeginJobRun(ctx context.Context, b BeginJob) (run JobRun, ok bool, err error) {
	err = s.update(ctx, func(t *tx) (err error) {
		if b.RunID != "" {
			run, err = jobRunByID(t, b.RunID)
			ok = err == nil && !run.Ended()
		} else {
			run, ok, err = t.claimSlot(b)
		}
		if errors.Is(err, ErrNotFound) {
			ok = false
			return nil
		}
		if err != nil || !ok {
			return err
		}
		if _, err := t.exec(`UPDATE job_runs SET claims = claims + 1, workflow_id = ?, run_id = ? WHERE id = ?`, b.WorkflowID, b.TemporalID, run.ID); err != nil {
			return err
		}
		if run.Claims >= maxJobClaims && run.TurnID == "" { // a turn counts for itself
			ok = false
			return t.endJobRun(run, RunFailed, t.say(text.JobNeverEnds{Times: run.Claims}))
		}
		if err := t.handOver(run); err != nil {
			return err
		}
		run, err = jobRunByID(t, run.ID)
		return err
	})
	return run, ok, err
}

// claimSlot makes a run of a slot that Temporal found due.
func (t *tx) claimSlot(b BeginJob) (JobRun, bool, error) {
	r, err := scanJobRun(t.row(`SELECT `+jobRunColumns+` FROM job_runs WHERE job_id = ? AND scheduled_for = ? AND trigger <> 'manual'`, b.JobID, b.Slot))
	if !errors.Is(err, ErrNotFound) {
		return r, err == nil && !r.Ended(), err
	}
	j, err := jobByID(t, b.JobID)
	if err != nil {
		return r, false, err
	}
	plan, err := j.Plan()
	if err != nil {
		return r, false, err
	}
	slot := time.UnixMilli(b.Slot)
	if j.State != JobActive || j.NextRunAt == 0 || b.Slot < j.NextRunAt || b.Slot > t.at+early.Milliseconds() || !plan.Is(slot) {
		return r, false, nil // of a schedule that Temporal has not yet been told to change
	}
	now, then, err := t.overlaps(j.ID, b.Slot)
	if err != nil {
		return r, false, err
	}
	status, why := t.slotStatus(j, plan, slot, now, then)
	if status == slotWaits {
		return r, false, nil
	}
	trigger := TriggerSchedule
	if status == RunRunning && b.Slot < b.Since {
		trigger = TriggerCatchUp
	}
	if r, err = t.insertJobRun(j, trigger, b.Slot, status, why); err != nil {
		return r, false, err
	}
	return r, status == RunRunning, t.advance(j, plan)
}

// slotWaits is a slot that came before the run that is under way began, and is due when
// that has ended: after an outage, slots of one job that are made up for come at once.
const slotWaits = ""

// slotStatus decides what becomes of a slot whose time has come. now: a run of the job is
// under way; then: one was when the slot came.
func (t *tx) slotStatus(j Job, plan schedule.Plan, slot time.Time, now, then bool) (status, why string) {
	if then {
		return RunSkipped, t.say(text.JobOverlapped{})
	}
	if status, why = t.inTime(j, plan, slot); status == RunRunning && now {
		return slotWaits, ""
	}
	return status, why
}

// inTime is slotStatus for a slot that nothing but the time keeps from running.
func (t *tx) inTime(j Job, plan schedule.Plan, slot time.Time) (status, why string) {
	next, more := plan.Next(slot)
	late := time.Duration(max(0, t.at-slot.UnixMilli())) * time.Millisecond
	switch {
	case j.MisfirePolicy == schedule.Skip && late > j.Grace(t.s.scheduler.MisfireGraceSeconds, plan.Period(slot)):
		return RunMissed, t.say(text.JobLate{Late: late.Round(time.Second).String()})
	case j.MisfirePolicy == schedule.RunOnce && more && next.UnixMilli() <= t.at:
		return RunMissed, t.say(text.JobOvertaken{})
	}
	return RunRunning, ""
}

// slotTaken reports whether a slot of the job has its row.
func (t *tx) slotTaken(jobID string, slot int64) (taken bool, err error) {
	err = t.row(`SELECT EXISTS (SELECT 1 FROM job_runs WHERE job_id = ? AND scheduled_for = ? AND trigger <> 'manual')`, jobID, slot).Scan(&taken)
	return taken, err
}

// overlaps reports whether a run of the job is under way now, and whether one was at a moment.
func (t *tx) overlaps(jobID string, at int64) (now, then bool, err error) {
	err = t.row(`SELECT EXISTS (SELECT 1 FROM job_runs WHERE job_id = ?1 AND started_at IS NOT NULL AND status = 'running'),
		EXISTS (SELECT 1 FROM job_runs WHERE job_id = ?1 AND started_at <= ?2 AND (finished_at IS NULL OR finished_at >= ?2))`, jobID, at).Scan(&now, &then)
	return now, then, err
}

// advance moves the job's next slot past those that have their rows.
func (t *tx) advance(j Job, plan schedule.Plan) error {
	next := int64(0)
	after := time.UnixMilli(j.NextRunAt - 1)
	for {
		slot, ok := plan.Next(after)
		if !ok {
			break
		}
		var taken bool
		if slot.UnixMilli() <= t.at+early.Milliseconds() {
			var err error
			if taken, err = t.slotTaken(j.ID, slot.UnixMilli()); err != nil {
				return err
			}
		}
		if !taken {
			next = slot.UnixMilli()
			break
		}
		after = slot
	}
	if _, err := t.exec(`UPDATE scheduler_jobs SET next_run_at = ? WHERE id = ?`, nullInt(next), j.ID); err != nil {
		return err
	}
	return t.completeJob(j.ID)
}

// handOver gives a run's work to who does it, once.
func (t *tx) handOver(r JobRun) error {
	switch {
	case r.Job.Kind == schedule.OutboundMessage:
		return t.sendForJob(r)
	case !r.Job.IsTask() || r.TurnID != "":
		return nil
	}
	target, pay := r.Job.Target, r.Job.Payload
	m := Inbound{
		Channel: target.Channel, ChatID: r.Job.SessionChat(), ExternalID: "job/" + r.JobID + "/" + strconv.FormatInt(r.ScheduledFor, 10),
		SenderID: pay.SenderID, Content: pay.Prompt, Metadata: pay.Metadata,
		New: NewSession{Title: r.JobID, Agent: pay.Agent},
	}
	if r.Trigger == TriggerManual {
		m.ExternalID = "job/" + r.JobID + "/" + r.ID
	}
	if m.SenderID == "" {
		m.SenderID = target.ChatID
	}
	if pay.FreshSession {
		sess, err := t.freshDialog(m)
		if err != nil {
			return err
		}
		m.SessionID = sess
	}
	a, known, err := accepted(t, m)
	if err == nil && !known {
		a, err = t.accept(m)
	}
	if err != nil {
		return fmt.Errorf("hand over run %s: %w", r.ID, err)
	}
	_, err = t.exec(`UPDATE job_runs SET session_id = ?, turn_id = ? WHERE id = ?`, a.SessionID, a.Turn.ID, r.ID)
	return err
}

// freshDialog makes a dialog that does not become its chat's active one.
func (t *tx) freshDialog(m Inbound) (string, error) {
	n := m.New
	n.Channel, n.ChatID = m.Channel, m.ChatID
	active, err := activeSession(t, m.Channel, m.ChatID)
	if err == nil {
		n.RoutingInfo = active.RoutingInfo
	} else if !errors.Is(err, ErrNotFound) {
		return "", err
	}
	return t.insertSession(n)
}

// sendForJob writes the outbox row of an outbound message. Where a message waits in
// the outbox until somebody connects, that is all there is to do.
func (t *tx) sendForJob(r JobRun) error {
	target := r.Job.Target
	o := Outbound{Channel: target.Channel, ChatID: target.ChatID, Origin: r.ID, Content: r.Job.Payload.Content, Unnoted: true}
	sess, err := activeSession(t, target.Channel, target.ChatID)
	if err == nil {
		o.SessionID = sess.ID
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	if _, err := t.enqueue(o); err != nil {
		return err
	}
	if o.SessionID != "" {
		t.touch(o.SessionID)
	}
	if target.Channel != chat.ChannelCLI {
		return nil
	}
	return t.endJobRun(r, RunCompleted, "")
}

// replyOf writes the outbox row of a turn's last words: where deliver says so, to the
// chat the turn is in; those of a job's task to the job's chat, those of a silent one
// to nobody.
func (t *tx) replyOf(turn Turn, content string, deliver bool) error {
	r, err := jobOfTurn(t, turn.ID)
	switch {
	case err != nil:
		return err
	case r == nil && deliver:
		return t.enqueueReply(turn, content)
	case r == nil, r.Job.Kind == schedule.SilentAgentTask:
		return nil
	}
	sess, err := sessionByID(t, turn.SessionID)
	if err != nil {
		return err
	}
	target := r.Job.Target
	here := sess.Active && sess.Channel == target.Channel && sess.ChatID == target.ChatID
	_, err = t.enqueue(Outbound{Channel: target.Channel, ChatID: target.ChatID, SessionID: sess.ID, Origin: turn.ID, TurnID: turn.ID, Content: content, Unnoted: !here})
	return err
}

// notShown fails with ErrTurnEnded for turns whose progress is nobody's business: those
// of silent jobs, and of jobs that work in another chat than they speak to.
func (t *tx) notShown(turn Turn) error {
	r, err := jobOfTurn(t, turn.ID)
	if r == nil || err != nil {
		return err
	}
	sess, err := sessionByID(t, turn.SessionID)
	if err == nil && (r.Job.Kind == schedule.SilentAgentTask || sess.ChatID != r.Job.Target.ChatID) {
		err = fmt.Errorf("%w for those who watch: turn %s is a job's", ErrTurnEnded, turn.ID)
	}
	return err
}
