package gateway

import (
	"errors"
	"net/http"

	"picobot/gateway/openapi"
	"picobot/internal/flow"
	"picobot/internal/memory"
	"picobot/store"
)

func (s *Server) maintenanceRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/api/v1/memories/maintain", handler: s.postMaintain, doc: &openapi.Operation{
			Tag: "memories", Summary: "Tidy what is remembered of people, of one or of all",
			Body:    maintainBody{},
			Answers: []openapi.Answer{{Status: http.StatusAccepted, Description: "It has begun; its run is told under this id", Body: maintenanceStarted{}}},
		}},
		{method: http.MethodGet, path: "/api/v1/memories/maintenance", handler: s.listMaintenance, doc: &openapi.Operation{
			Tag: "memories", Summary: "When memories were tidied, the newest first",
			Query:   []openapi.Param{limitParam, cursorParam},
			Answers: []openapi.Answer{ok(openapi.List{Item: MaintenanceItem{}}, "A page of them")},
		}},
		{method: http.MethodGet, path: "/api/v1/memories/maintenance/{id}", handler: s.getMaintenance, doc: &openapi.Operation{
			Tag: "memories", Summary: "A run, once a worker has begun it",
			Answers: []openapi.Answer{ok(MaintenanceItem{}, "It")},
		}},
	}
}

// maintainBody says whose memories are to be tidied; "" = everybody's.
type maintainBody struct {
	ScopeKey string `json:"scope_key,omitempty"`
}

// maintenanceStarted names a run.
type maintenanceStarted struct {
	ID string `json:"id"`
}

// MaintenanceItem is a run of memory maintenance as JSON shows it.
type MaintenanceItem struct {
	ID         string `json:"id"`
	ScopeKey   string `json:"scope_key"` // "" = all
	Status     string `json:"status"`
	Scopes     int    `json:"scopes"`
	Changed    int    `json:"changed"`
	Failed     int    `json:"failed"`
	Merged     int    `json:"merged"`
	Deleted    int    `json:"deleted"`
	Conflicts  int    `json:"conflicts"`
	Tokens     int64  `json:"tokens"`
	Error      string `json:"error,omitempty"`
	StartedAt  int64  `json:"started_at"`
	FinishedAt int64  `json:"finished_at,omitempty"`
}

func maintenanceOf(m store.Maintenance) MaintenanceItem {
	return MaintenanceItem{ID: m.ID, ScopeKey: m.Scope, Status: m.Status, Scopes: m.Scopes, Changed: m.Changed, Failed: m.Failed, Merged: m.Merged,
		Deleted: m.Deleted, Conflicts: m.Conflicts, Tokens: m.Tokens, Error: m.Error, StartedAt: m.StartedAt, FinishedAt: m.FinishedAt}
}

// postMaintain starts memory maintenance. It answers once Temporal has it; what becomes
// of it is told under its id.
func (s *Server) postMaintain(w http.ResponseWriter, r *http.Request) error {
	var body maintainBody
	if err := readBody(r, &body); err != nil {
		return err
	}
	if body.ScopeKey != "" {
		if _, err := memory.CleanScope(body.ScopeKey); err != nil {
			return badRequest("scope_key: %v", err)
		}
	}
	if s.deps.Maintain == nil {
		return conflict("memory maintenance is turned off: set memory.maintenance_enabled in the configuration")
	}
	run, err := s.deps.Maintain(r.Context(), body.ScopeKey)
	switch {
	case errors.Is(err, flow.ErrMaintenanceRuns):
		return conflict("memory maintenance runs already: see /api/v1/memories/maintenance")
	case err != nil:
		s.log.Warn("memory maintenance could not be started", "error", err)
		return &httpError{http.StatusServiceUnavailable, "temporal_unavailable", "temporal does not answer: try again once /health says that it does"}
	}
	return writeJSON(w, http.StatusAccepted, maintenanceStarted{ID: run})
}

func (s *Server) listMaintenance(w http.ResponseWriter, r *http.Request) error {
	limit, after, err := pageOf(r)
	if err != nil {
		return err
	}
	found, err := s.deps.Record.Maintenances(r.Context(), after, limit+1)
	if err != nil {
		return err
	}
	found, next := cutPage(found, limit, func(m store.Maintenance) store.After { return store.After{At: m.StartedAt, ID: m.ID} })
	return writeList(w, each(found, maintenanceOf), next)
}

func (s *Server) getMaintenance(w http.ResponseWriter, r *http.Request) error {
	m, err := s.deps.Record.Maintenance(r.Context(), r.PathValue("id"))
	if err != nil {
		return missing("run of memory maintenance", r, err)
	}
	return writeJSON(w, http.StatusOK, maintenanceOf(m))
}
