package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"picobot/internal/schedule"
)

//go:embed scheduler_manage.md
var schedulerManageDescription string

type schedulerManageArgs struct {
	Action string         `json:"action" jsonschema:"what to do"`
	ID     string         `json:"id,omitempty" jsonschema:"the job, for get, delete, pause and resume"`
	Job    map[string]any `json:"job,omitempty" jsonschema:"the job to put"`
}

// jobShape is what the model is told of a job; schedule.Parse checks it.
type jobShape struct {
	ID       string `json:"id" jsonschema:"a short name, such as agent.water_plants"`
	Kind     string `json:"kind" jsonschema:"outbound_message, agent_task or silent_agent_task"`
	Schedule struct {
		Type       string `json:"type" jsonschema:"delay, interval, at or cron"`
		Seconds    int    `json:"seconds,omitempty" jsonschema:"of a delay or an interval"`
		Time       string `json:"time,omitempty" jsonschema:"of an at: RFC 3339, or local time such as 2027-01-31 18:30"`
		Expression string `json:"expression,omitempty" jsonschema:"of a cron: five fields"`
		TimeZone   string `json:"time_zone,omitempty" jsonschema:"IANA name such as Asia/Shanghai"`
	} `json:"schedule" jsonschema:"when it is due"`
	Payload struct {
		Content      string `json:"content,omitempty" jsonschema:"the text of an outbound_message"`
		Prompt       string `json:"prompt,omitempty" jsonschema:"the task of an agent_task or silent_agent_task"`
		FreshSession bool   `json:"fresh_session,omitempty" jsonschema:"each run in a new conversation"`
		SystemPrompt string `json:"system_prompt,omitempty" jsonschema:"more instructions for the task"`
	} `json:"payload" jsonschema:"what it has to do"`
	MisfirePolicy string `json:"misfire_policy,omitempty" jsonschema:"what becomes of missed runs: skip, run_once or run_all"`
	Enabled       bool   `json:"enabled,omitempty" jsonschema:"false = paused; default true"`
}

// JobKeeper is what scheduler_manage works with: a transaction of the record that
// knows the turn's chat, and of jobs only those that were made there.
type JobKeeper interface {
	Place() schedule.Place
	ListJobs() ([]schedule.View, error)
	GetJob(id string) (schedule.View, error)
	PutJob(j schedule.Job) (v schedule.View, created bool, err error)
	DeleteJob(id string) error
	PauseJob(id string) (schedule.View, error)
	ResumeJob(id string) (schedule.View, error)
}

// SchedulerOptions configure scheduler_manage.
type SchedulerOptions struct {
	Rules func() schedule.Rules
	// AllowFromJobs: a run of a job may change jobs.
	AllowFromJobs bool
}

// SchedulerManage is the tool scheduler_manage. Its call's Tx is a JobKeeper.
func SchedulerManage(o SchedulerOptions) Tool {
	return NewRecord(Spec[schedulerManageArgs]{
		Name:        "scheduler_manage",
		Description: schedulerManageDescription,
		Summary: func(a schedulerManageArgs) string {
			id := a.ID
			if name, ok := a.Job["id"].(string); ok && id == "" {
				id = name
			}
			return strings.TrimSpace(a.Action + " " + id)
		},
		Refine: func(s *jsonschema.Schema) {
			s.Properties["action"].Enum = []any{"list", "get", "put", "delete", "pause", "resume"}
			job, err := jsonschema.For[jobShape](nil)
			if err != nil {
				panic(fmt.Sprintf("tools: schema of a job: %v", err)) // a mistake in the program
			}
			open(job)
			job.Description = s.Properties["job"].Description
			s.Properties["job"] = job
		},
	}, func(_ context.Context, k JobKeeper, _ Call, a schedulerManageArgs) (string, error) {
		return o.manage(k, a)
	})
}

// open lets what is wrong with a job through to who says it better.
func open(s *jsonschema.Schema) {
	s.AdditionalProperties, s.Required = nil, nil
	for _, p := range s.Properties {
		open(p)
		if p.Type != "object" {
			p.Type, p.Types = "", nil
		}
	}
}

func (o SchedulerOptions) manage(k JobKeeper, a schedulerManageArgs) (string, error) {
	place := k.Place()
	if changes := a.Action != "list" && a.Action != "get"; changes && place.InJob && !o.AllowFromJobs {
		return "", errors.New("a scheduled run may not change jobs: tell the person what to schedule instead")
	}
	if a.Action != "list" && a.Action != "put" && a.ID == "" {
		return "", fmt.Errorf("%s needs the id of a job: action list shows them", a.Action)
	}
	switch a.Action {
	case "list":
		jobs, err := k.ListJobs()
		if err != nil {
			return "", err
		}
		if len(jobs) == 0 {
			return "There are no jobs of this chat.", nil
		}
		return asJSON(jobs)
	case "get":
		v, err := k.GetJob(a.ID)
		if err != nil {
			return "", err
		}
		return asJSON(v)
	case "put":
		return o.put(k, place, a)
	case "delete":
		if err := k.DeleteJob(a.ID); err != nil {
			return "", err
		}
		return fmt.Sprintf("Job %s is deleted.", a.ID), nil
	case "pause":
		if _, err := k.PauseJob(a.ID); err != nil {
			return "", err
		}
		return fmt.Sprintf("Job %s is paused.", a.ID), nil
	default:
		v, err := k.ResumeJob(a.ID)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Job %s goes on.%s", a.ID, nextRuns(v)), nil
	}
}

func (o SchedulerOptions) put(k JobKeeper, place schedule.Place, a schedulerManageArgs) (string, error) {
	if a.Job == nil {
		return "", errors.New(`put needs a job, such as {"id": "agent.tea", "kind": "outbound_message", "schedule": {"type": "delay", "seconds": 300}, "payload": {"content": "The tea is ready."}}`)
	}
	raw, err := json.Marshal(a.Job)
	if err != nil {
		return "", fmt.Errorf("job: %w", err)
	}
	rules := o.Rules()
	rules.ID, rules.Target = a.ID, &place.Target
	j, problems := schedule.Parse(raw, "job", rules)
	if err := problems.Err(); err != nil {
		return "", err
	}
	switch {
	case a.ID != "" && j.ID != a.ID:
		return "", fmt.Errorf("id: the job is called %q and the call says %q; make them the same, or leave id out", j.ID, a.ID)
	case j.Kind == schedule.InternalEvent:
		return "", errors.New("job.kind: internal_event is for operators; write outbound_message, agent_task or silent_agent_task")
	case j.Target != place.Target:
		return "", errors.New("job.target: jobs speak to the chat you are in; leave the target out")
	case j.Payload.SenderID != "" && j.Payload.SenderID != place.SenderID:
		return "", errors.New("job.payload.sender_id: jobs are in the name of the person you are answering; leave it out")
	}
	j.Payload.SenderID = place.SenderID
	v, created, err := k.PutJob(j)
	if err != nil {
		return "", err
	}
	done := "is changed"
	if created {
		done = "is scheduled"
	}
	if v.State == "paused" {
		return fmt.Sprintf("Job %s %s; it is paused.", v.ID, done), nil
	}
	return fmt.Sprintf("Job %s %s.%s", v.ID, done, nextRuns(v)), nil
}

func nextRuns(v schedule.View) string {
	if len(v.NextRuns) == 0 {
		return ""
	}
	return fmt.Sprintf(" Next: %s (%s).", strings.Join(v.NextRuns, ", "), v.Schedule.TimeZone)
}

func asJSON(v any) (string, error) {
	text, err := json.MarshalIndent(v, "", " ")
	return string(text), err
}
