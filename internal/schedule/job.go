package schedule

import (
	"encoding/json"
	"time"
)

// Kind says what a job does.
type Kind string

// The four kinds of jobs.
const (
	InternalEvent   Kind = "internal_event"    // PicoBot's own work
	OutboundMessage Kind = "outbound_message"  // a text to a chat
	AgentTask       Kind = "agent_task"        // a turn whose reply goes to a chat
	SilentAgentTask Kind = "silent_agent_task" // a turn that is heard of only when it fails
)

// Events of jobs of the kind InternalEvent.
const (
	MemoryMaintenance = "memory_maintenance"
	SessionCleanup    = "session_cleanup"
)

// Types of schedules.
const (
	Delay    = "delay"    // once, so many seconds after the job was made
	Interval = "interval" // every so many seconds, counted from when the job was made
	At       = "at"       // once
	CronType = "cron"     // five fields of cron
)

// Misfire policies: what becomes of a slot that could not start in time.
const (
	Skip    = "skip"     // it is missed
	RunOnce = "run_once" // after an outage the last slot runs, those before it are missed
	RunAll  = "run_all"  // each runs
)

// Job is one scheduled job, as it is written in JSON.
type Job struct {
	ID                  string  `json:"id"`
	Kind                Kind    `json:"kind"`
	Schedule            Spec    `json:"schedule"`
	Target              Target  `json:"target"`
	Payload             Payload `json:"payload"`
	MisfirePolicy       string  `json:"misfire_policy"`        // "" = Policy decides
	MisfireGraceSeconds int     `json:"misfire_grace_seconds"` // 0 = Grace decides
	Enabled             bool    `json:"enabled"`
}

// Spec says when a job is due.
type Spec struct {
	Type       string `json:"type"`
	Seconds    int    `json:"seconds,omitempty"`    // of a delay or an interval
	Time       string `json:"time,omitempty"`       // of an at: RFC 3339, or local time in the job's zone
	Expression string `json:"expression,omitempty"` // of a cron
	TimeZone   string `json:"time_zone,omitempty"`  // IANA name
}

// OneShot reports whether a job with this schedule is due only once.
func (s Spec) OneShot() bool { return s.Type == Delay || s.Type == At }

// Target is the chat that a job speaks to.
type Target struct {
	Channel string `json:"channel"`
	ChatID  string `json:"chat_id"`
	// SessionChatID is the chat of the same channel whose dialog the work is done in;
	// "" = ChatID, for a silent task a chat of the job's own.
	SessionChatID string `json:"session_chat_id,omitempty"`
}

// Payload is what a job has to do. Which fields mean something depends on the kind.
type Payload struct {
	Event             string          `json:"event,omitempty"`   // of an internal event
	Content           string          `json:"content,omitempty"` // of an outbound message
	Prompt            string          `json:"prompt,omitempty"`  // of both agent tasks, as what follows
	Agent             string          `json:"agent,omitempty"`
	FreshSession      bool            `json:"fresh_session,omitempty"` // each run in a dialog of its own
	SystemPrompt      string          `json:"system_prompt,omitempty"`
	SenderID          string          `json:"sender_id,omitempty"`
	Metadata          json.RawMessage `json:"metadata,omitempty"`            // a JSON object, kept with each run
	MaxToolIterations int             `json:"max_tool_iterations,omitempty"` // 0 = the agent's
	TimeoutSeconds    int             `json:"timeout_seconds,omitempty"`     // of any kind; 0 = the scheduler's
}

// SessionChat is the chat of the target's channel that the job's work is done in.
func (j Job) SessionChat() string {
	switch {
	case j.Target.SessionChatID != "":
		return j.Target.SessionChatID
	case j.Kind == SilentAgentTask:
		return "scheduler/" + j.ID
	}
	return j.Target.ChatID
}

// IsTask reports whether the job is a turn of an agent.
func (j Job) IsTask() bool { return j.Kind == AgentTask || j.Kind == SilentAgentTask }

// Policy is the job's misfire policy: its own, else run_once for what is due once and
// the scheduler's for the rest.
func (j Job) Policy(scheduler string) string {
	switch {
	case j.MisfirePolicy != "":
		return j.MisfirePolicy
	case j.Schedule.OneShot():
		return RunOnce
	case scheduler != "":
		return scheduler
	}
	return Skip
}

// maxGrace bounds the grace that nobody has chosen.
const maxGrace = 300 * time.Second

// Grace is how late a slot may start under the policy skip: the job's own grace, else
// the scheduler's, else half the period, at most five minutes. period 0 = due once.
func (j Job) Grace(schedulerSeconds int, period time.Duration) time.Duration {
	switch {
	case j.MisfireGraceSeconds > 0:
		return time.Duration(j.MisfireGraceSeconds) * time.Second
	case schedulerSeconds > 0:
		return time.Duration(schedulerSeconds) * time.Second
	case period > 0:
		return min(period/2, maxGrace)
	}
	return maxGrace
}
