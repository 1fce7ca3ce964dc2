package flow

import "picobot/internal/schedule"

// JobWorkflowID is the id of a job's schedule, and what the ids of its workflows begin
// with.
func JobWorkflowID(jobID string) string { return "job/" + visibleASCII(jobID) }

// Workflows that jobs run and others register.
const (
	JobWorkflow               = "Job"
	CleanupWorkflow           = "Cleanup"
	CleanupWorkflowID         = "cleanup"
	MemoryMaintenanceWorkflow = "MemoryMaintenance"
	MemoryMaintenanceID       = "memory-maintenance"
)

// EventMemoryMaintenance is the event of JobBegun that is not a cleanup.
const EventMemoryMaintenance = schedule.MemoryMaintenance

// SignalJobEnded tells a job's workflow that the turn it waits for has ended: look at
// the record. No payload.
const SignalJobEnded = "ended"

// Names of the activities of jobs.
const (
	BeginJobRun = "BeginJobRun"
	LookAtRun   = "LookAtJobRun"
	StopJobRun  = "StopJobRun"
	EndJobRun   = "EndJobRun"
)

// ScheduledPriority is that of work nobody waits at a keyboard for. Temporal's default
// is 3, and lower goes first.
const ScheduledPriority = 4

// JobInput says which run of a job a workflow is: one that the record has (RunID), or
// the slot that its schedule was due at.
type JobInput struct {
	JobID  string `json:"job_id"`
	RunID  string `json:"run_id,omitempty"`
	Slot   int64  `json:"slot,omitempty"` // ms; a schedule's workflows have it in a search attribute
	Queues Queues `json:"queues"`
}

// JobBegun says what a run has to wait for. An empty RunID: there is nothing to do.
type JobBegun struct {
	RunID     string   `json:"run_id,omitempty"`
	SessionID string   `json:"session_id,omitempty"` // whose next turn is the run
	TurnID    string   `json:"turn_id,omitempty"`
	Outbound  []string `json:"outbound,omitempty"` // outbox rows to deliver
	Event     string   `json:"event,omitempty"`    // an internal event
	Asked     bool     `json:"asked,omitempty"`    // somebody runs it by hand
	LeftMS    int64    `json:"left_ms,omitempty"`  // of the time the run may take
}

// RunState is how a run is.
type RunState struct {
	Ended    bool     `json:"ended,omitempty"`
	Outbound []string `json:"outbound,omitempty"` // notices that are still to be sent
}

// StopRun says why a run is to stop.
type StopRun struct {
	RunID   string `json:"run_id"`
	LimitMS int64  `json:"limit_ms,omitempty"` // it took longer than it may; 0 = somebody cancelled it
}

// EndRun ends a run that is no turn: as its outbox rows say, or as Why does, or as
// failed with Error; with none of them as completed.
type EndRun struct {
	RunID  string `json:"run_id"`
	Outbox bool   `json:"outbox,omitempty"`
	Why    string `json:"why,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Reasons in EndRun.Why. What people are told is said where the language is known.
const (
	EndUnderWay = "under_way" // skipped: it was under way already
	EndTooLong  = "too_long"  // it took longer than it may
	EndStopped  = "stopped"   // somebody stopped it
)
