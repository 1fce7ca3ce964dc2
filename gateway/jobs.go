package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"picobot/gateway/openapi"
	"picobot/internal/schedule"
	"picobot/store"
)

func (s *Server) jobRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/api/v1/jobs", handler: s.listJobs, doc: &openapi.Operation{
			Tag: "jobs", Summary: "Scheduled jobs, in the order of their ids",
			Query: []openapi.Param{
				{Name: "limit", Description: "at most so many items; without it all of them", Number: true, Min: 1, Max: maxLimit}, cursorParam,
			},
			Answers: []openapi.Answer{ok(openapi.List{Item: JobItem{}}, "All of them, or a page")},
		}},
		{method: http.MethodGet, path: "/api/v1/jobs/{id}", handler: s.getJob, doc: &openapi.Operation{
			Tag: "jobs", Summary: "A job",
			Answers: []openapi.Answer{ok(JobItem{}, "It")},
		}},
		{method: http.MethodPut, path: "/api/v1/jobs/{id}", handler: s.putJob, doc: &openapi.Operation{
			Tag: "jobs", Summary: "Make a job, or change the one with this id",
			Body: schedule.Job{}, Answers: []openapi.Answer{ok(JobItem{}, "It was changed"), {Status: http.StatusCreated, Description: "It is new", Body: JobItem{}}},
		}},
		{method: http.MethodDelete, path: "/api/v1/jobs/{id}", handler: s.deleteJob, doc: &openapi.Operation{
			Tag: "jobs", Summary: "Delete a job",
			Answers: []openapi.Answer{{Status: http.StatusNoContent, Description: "It is gone"}},
		}},
		{method: http.MethodPost, path: "/api/v1/jobs/{id}/pause", handler: s.pauseJob, doc: &openapi.Operation{
			Tag: "jobs", Summary: "Let a job rest",
			Answers: []openapi.Answer{ok(JobItem{}, "It rests")},
		}},
		{method: http.MethodPost, path: "/api/v1/jobs/{id}/resume", handler: s.resumeJob, doc: &openapi.Operation{
			Tag: "jobs", Summary: "Have a job that rests go on",
			Answers: []openapi.Answer{ok(JobItem{}, "It goes on")},
		}},
		{method: http.MethodPost, path: "/api/v1/jobs/{id}/run", handler: s.runJob, doc: &openapi.Operation{
			Tag: "jobs", Summary: "Run a job now",
			Answers: []openapi.Answer{{Status: http.StatusAccepted, Description: "The run is written down and begins", Body: JobRunItem{}}},
		}},
		{method: http.MethodGet, path: "/api/v1/jobs/{id}/runs", handler: s.listJobRuns, doc: &openapi.Operation{
			Tag: "jobs", Summary: "Runs of a job, the newest first",
			Query:   []openapi.Param{limitParam, cursorParam},
			Answers: []openapi.Answer{ok(openapi.List{Item: JobRunItem{}}, "A page of them")},
		}},
	}
}

// JobItem is a job as JSON shows it: as it was put, and how it is.
type JobItem struct {
	schedule.Job
	TimeZone   string     `json:"time_zone"`
	State      string     `json:"state"`
	Source     string     `json:"source"`
	CreatedBy  string     `json:"created_by,omitempty"`
	Origin     *JobOrigin `json:"origin,omitempty"`
	LastRunAt  int64      `json:"last_run_at,omitempty"`
	LastStatus string     `json:"last_status,omitempty"`
	NextRunAt  int64      `json:"next_run_at,omitempty"`
	NextRuns   []string   `json:"next_runs"` // up to three, RFC 3339 in the job's zone
	CreatedAt  int64      `json:"created_at"`
	UpdatedAt  int64      `json:"updated_at"`
}

// JobOrigin is the chat and person that an agent's job came from.
type JobOrigin struct {
	Channel  string `json:"channel"`
	ChatID   string `json:"chat_id"`
	SenderID string `json:"sender_id"`
}

// jobItem returns a job as JSON shows it.
func (s *Server) jobItem(j store.Job) JobItem {
	item := JobItem{
		Job: j.Job, TimeZone: j.Schedule.TimeZone, State: j.State, Source: j.Source, CreatedBy: j.CreatedBy,
		LastRunAt: j.LastRunAt, LastStatus: j.LastStatus, NextRunAt: j.NextRunAt, NextRuns: j.NextRuns(s.deps.Now(), 3),
		CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt,
	}
	if o := j.Origin; o != (store.JobOrigin{}) {
		item.Origin = &JobOrigin{o.Channel, o.ChatID, o.SenderID}
	}
	return item
}

// JobRunItem is a run of a job as JSON shows it.
type JobRunItem struct {
	ID           string          `json:"id"`
	JobID        string          `json:"job_id"`
	Trigger      string          `json:"trigger"`
	ScheduledFor int64           `json:"scheduled_for"`
	StartedAt    int64           `json:"started_at,omitempty"`
	FinishedAt   int64           `json:"finished_at,omitempty"`
	Status       string          `json:"status"`
	Error        string          `json:"error,omitempty"`
	SessionID    string          `json:"session_id,omitempty"`
	TurnID       string          `json:"turn_id,omitempty"`
	WorkflowID   string          `json:"workflow_id,omitempty"`
	RunID        string          `json:"run_id,omitempty"`
	RunURL       string          `json:"run_url,omitempty"` // its page in the Temporal UI
	Metadata     json.RawMessage `json:"metadata,omitempty"`
}

func (s *Server) jobRun(r store.JobRun) JobRunItem {
	return JobRunItem{ID: r.ID, JobID: r.JobID, Trigger: r.Trigger, ScheduledFor: r.ScheduledFor, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
		Status: r.Status, Error: r.Error, SessionID: r.SessionID, TurnID: r.TurnID, WorkflowID: r.WorkflowID, RunID: r.RunID,
		RunURL: s.opts.UI.Run(r.WorkflowID, r.RunID, r.FinishedAt), Metadata: r.Job.Payload.Metadata}
}

func (s *Server) listJobs(w http.ResponseWriter, r *http.Request) error {
	limit, after, err := pageOf(r)
	if err != nil {
		return err
	}
	jobs, err := s.deps.Record.Jobs(r.Context())
	if err != nil {
		return err
	}
	jobs = slices.DeleteFunc(jobs, func(j store.Job) bool { return j.ID <= after.ID })
	if r.URL.Query().Get("limit") == "" {
		limit = max(1, len(jobs))
	}
	jobs, next := cutPage(jobs, limit, func(j store.Job) store.After { return store.After{ID: j.ID} })
	return writeList(w, each(jobs, s.jobItem), next)
}

func (s *Server) getJob(w http.ResponseWriter, r *http.Request) error {
	j, err := s.deps.Record.Job(r.Context(), r.PathValue("id"))
	if err != nil {
		return jobError(r, err)
	}
	return writeJSON(w, http.StatusOK, s.jobItem(j))
}

func (s *Server) putJob(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	body, err := wholeBody(r) // schedule.Parse has the last word on its size
	if err != nil {
		return err
	}
	rules := s.deps.JobRules()
	rules.ID = id
	j, problems := schedule.Parse(body, "", rules)
	if problems.Err() != nil {
		return badRequest("%s", problems.Error())
	}
	if j.ID != id {
		return badRequest("id: the job is called %q and the path says %q: make them the same", j.ID, id)
	}
	job, created, err := s.deps.Record.PutJob(r.Context(), store.PutJob{Job: j, Source: store.JobAPI})
	if err != nil {
		return jobError(r, err)
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return writeJSON(w, status, s.jobItem(job))
}

func (s *Server) deleteJob(w http.ResponseWriter, r *http.Request) error {
	if err := s.deps.Record.DeleteJob(r.Context(), r.PathValue("id")); err != nil {
		return jobError(r, err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) pauseJob(w http.ResponseWriter, r *http.Request) error {
	return s.changeJob(w, r, s.deps.Record.PauseJob)
}

func (s *Server) resumeJob(w http.ResponseWriter, r *http.Request) error {
	return s.changeJob(w, r, s.deps.Record.ResumeJob)
}

func (s *Server) changeJob(w http.ResponseWriter, r *http.Request, change func(ctx context.Context, id string) (store.Job, error)) error {
	j, err := change(r.Context(), r.PathValue("id"))
	if err != nil {
		return jobError(r, err)
	}
	return writeJSON(w, http.StatusOK, s.jobItem(j))
}

func (s *Server) runJob(w http.ResponseWriter, r *http.Request) error {
	run, err := s.deps.Record.RequestJobRun(r.Context(), r.PathValue("id"))
	if err != nil {
		return jobError(r, err)
	}
	return writeJSON(w, http.StatusAccepted, s.jobRun(run))
}

func (s *Server) listJobRuns(w http.ResponseWriter, r *http.Request) error {
	limit, after, err := pageOf(r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	runs, err := s.deps.Record.JobRuns(r.Context(), id, after.At, after.ID, limit+1)
	if err != nil {
		return err
	}
	if len(runs) == 0 && after == (store.After{}) {
		if _, err := s.deps.Record.Job(r.Context(), id); err != nil {
			return jobError(r, err)
		}
	}
	runs, next := cutPage(runs, limit, func(x store.JobRun) store.After { return store.After{At: x.ScheduledFor, ID: x.ID} })
	return writeList(w, each(runs, s.jobRun), next)
}

// jobError says what the record refused.
func jobError(r *http.Request, err error) error {
	for _, rule := range []error{store.ErrJobOwned, store.ErrJobRunning, store.ErrJobCompleted, store.ErrJobForeign} {
		if errors.Is(err, rule) {
			return conflict("%s", rule)
		}
	}
	return missing("job", r, err)
}
