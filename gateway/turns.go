package gateway

import (
	"errors"
	"net/http"

	"picobot/gateway/openapi"
	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/store"
)

func (s *Server) turnRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/api/v1/turns", handler: s.listTurns, doc: &openapi.Operation{
			Tag: "turns", Summary: "Turns, the newest first",
			Query: []openapi.Param{
				{Name: "status", Description: "only with this status", Values: []string{"queued", "running", "completed", "failed", "cancelled"}},
				textParam("session_id", "only of this session"), limitParam, cursorParam,
			},
			Answers: []openapi.Answer{ok(openapi.List{Item: Turn{}}, "A page of them")},
		}},
		{method: http.MethodGet, path: "/api/v1/turns/{id}", handler: s.getTurn, doc: &openapi.Operation{
			Tag: "turns", Summary: "A turn with what was done for it",
			Answers: []openapi.Answer{ok(TurnDetail{}, "It")},
		}},
		{method: http.MethodPost, path: "/api/v1/turns/{id}/stop", handler: s.postStop, doc: &openapi.Operation{
			Tag: "turns", Summary: "Stop a turn",
			Answers: []openapi.Answer{
				ok(Turn{}, "It waited, and has ended"),
				{Status: http.StatusAccepted, Description: "It runs, and is about to end", Body: Turn{}},
			},
		}},
	}
}

// Turn is a turn as the API tells it.
type Turn struct {
	ID                string            `json:"id"`
	SessionID         string            `json:"session_id"`
	InboundID         string            `json:"inbound_id"`
	Status            chat.TurnStatus   `json:"status"`
	Model             string            `json:"model"`
	Steps             int               `json:"steps"`
	Usage             chat.Usage        `json:"usage"`
	Error             *protocol.Problem `json:"error,omitempty"`
	CancelRequestedAt int64             `json:"cancel_requested_at,omitempty"`
	WorkflowID        string            `json:"workflow_id,omitempty"`
	RunID             string            `json:"run_id,omitempty"`
	CreatedAt         int64             `json:"created_at"`
	StartedAt         int64             `json:"started_at,omitempty"`
	FinishedAt        int64             `json:"finished_at,omitempty"`
	RunURL            string            `json:"run_url,omitempty"` // its run's page in the Temporal UI
}

// TurnDetail is a turn with the message that it answers and what was done for it.
type TurnDetail struct {
	Turn
	Channel    string      `json:"channel"`
	ChatID     string      `json:"chat_id"`
	SenderID   string      `json:"sender_id"`
	Content    string      `json:"content"`
	ModelCalls []ModelCall `json:"model_calls"`
	ToolRuns   []ToolRun   `json:"tool_runs"`
}

// ToolRun is a call of a tool as the API tells it. Its arguments and its result are
// rows of the session.
type ToolRun struct {
	Step       int             `json:"step"`
	Position   int             `json:"position"`
	CallID     string          `json:"call_id"`
	Name       string          `json:"name"`
	Effect     string          `json:"effect"`
	Status     chat.ToolStatus `json:"status"`
	StartedAt  int64           `json:"started_at"`
	FinishedAt int64           `json:"finished_at,omitempty"`
}

// ModelCall is a call of a model as the API tells it.
type ModelCall struct {
	Step       int        `json:"step"`
	Attempt    int        `json:"attempt"`
	Model      string     `json:"model"`
	Provider   string     `json:"provider"`
	Status     string     `json:"status"`
	Error      string     `json:"error,omitempty"` // the kind of failure
	Usage      chat.Usage `json:"usage"`
	DurationMS int64      `json:"duration_ms"`
	CreatedAt  int64      `json:"created_at"`
	// Rows are those of the session that the request held ("1-3,7"), Stubs those of them
	// that only name where the whole is.
	Rows  string `json:"request_rows,omitempty"`
	Stubs string `json:"request_stubs,omitempty"`
}

// ModelCallOf tells a model call.
func ModelCallOf(c store.ModelCall) ModelCall {
	return ModelCall{
		Step: c.Step, Attempt: c.Attempt, Model: c.Model, Provider: c.Provider, Status: c.Status(), Error: c.Error,
		Usage: c.Usage, DurationMS: c.DurationMS, CreatedAt: c.CreatedAt, Rows: c.Rows.String(), Stubs: c.Stubs.String(),
	}
}

// TurnDetailOf tells a turn with what was done for it.
func TurnDetailOf(d store.TurnDetail) TurnDetail {
	return TurnDetail{
		Turn: TurnOf(d.Turn), Channel: d.Message.Channel, ChatID: d.Message.ChatID, SenderID: d.Message.SenderID, Content: d.Message.Content,
		ModelCalls: each(d.Calls, ModelCallOf),
		ToolRuns: each(d.Tools, func(r store.ToolRun) ToolRun {
			return ToolRun{
				Step: r.Step, Position: r.Position, CallID: r.CallID, Name: r.Name, Effect: r.Effect, Status: r.Status,
				StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
			}
		}),
	}
}

// watch says where a person can look at a run: its page in the web UI, or the id of the
// workflow to look for where the UI is somebody else's. It is "" where there is no run, or none any more.
func (s *Server) watch(r store.LatestRun) string {
	page := s.opts.UI.Run(r.WorkflowID, r.RunID, r.Over)
	if page == "" && s.opts.UI.URL == "" {
		return r.WorkflowID
	}
	return page
}

// turn is TurnOf with the link that this gateway can give.
func (s *Server) turn(t store.Turn) Turn {
	out := TurnOf(t)
	out.RunURL = s.opts.UI.Run(t.WorkflowID, t.RunID, t.FinishedAt)
	return out
}

// TurnOf tells a turn.
func TurnOf(t store.Turn) Turn {
	return Turn{
		ID: t.ID, SessionID: t.SessionID, InboundID: t.InboundID, Status: t.Status, Model: t.Model, Steps: t.Steps, Usage: t.Usage,
		Error: turnFrame(t).Error, CancelRequestedAt: t.CancelRequestedAt, WorkflowID: t.WorkflowID, RunID: t.RunID,
		CreatedAt: t.CreatedAt, StartedAt: t.StartedAt, FinishedAt: t.FinishedAt,
	}
}

func (s *Server) listTurns(w http.ResponseWriter, r *http.Request) error {
	limit, after, err := pageOf(r)
	if err != nil {
		return err
	}
	status := chat.TurnStatus(r.URL.Query().Get("status"))
	if status != "" && status != chat.TurnQueued && status != chat.TurnRunning && !status.Final() {
		return badRequest("status must be queued, running, completed, failed or cancelled")
	}
	found, err := s.deps.Record.Turns(r.Context(), store.TurnFilter{SessionID: r.URL.Query().Get("session_id"), Status: status, After: after, Limit: limit + 1})
	if err != nil {
		return err
	}
	found, next := cutPage(found, limit, func(t store.Turn) store.After { return store.After{At: t.CreatedAt, ID: t.ID} })
	return writeList(w, each(found, s.turn), next)
}

func (s *Server) getTurn(w http.ResponseWriter, r *http.Request) error {
	d, err := s.deps.Record.TurnDetail(r.Context(), r.PathValue("id"))
	if err != nil {
		return missing("turn", r, err)
	}
	out := TurnDetailOf(d)
	out.Turn = s.turn(d.Turn)
	return writeJSON(w, http.StatusOK, out)
}

// postStop asks for a turn to stop: a waiting one has stopped when this answers, a
// running one is on its way.
func (s *Server) postStop(w http.ResponseWriter, r *http.Request) error {
	t, err := s.deps.Record.Turn(r.Context(), r.PathValue("id"))
	if err != nil {
		return missing("turn", r, err)
	}
	got, err := s.stopTurn(r.Context(), t.SessionID, t.ID)
	if errors.Is(err, store.ErrNotFound) {
		return conflict("the turn has ended already")
	}
	if err != nil {
		return err
	}
	status := http.StatusOK
	if got.Running {
		status = http.StatusAccepted
	}
	return writeJSON(w, status, s.turn(got.Turn))
}
