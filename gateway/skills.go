package gateway

import (
	"errors"
	"net/http"

	"picobot/gateway/openapi"
	"picobot/internal/skills"
)

func (s *Server) skillRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/api/v1/skills", handler: s.listSkills, doc: &openapi.Operation{
			Tag: "skills", Summary: "Skills, and folders that are none",
			Answers: []openapi.Answer{ok(skills.Listing{}, "All of them")},
		}},
		{method: http.MethodPost, path: "/api/v1/skills", handler: s.postSkills, doc: &openapi.Operation{
			Tag: "skills", Summary: "Switch skills on or off, all of them or none",
			Body: skillChange{}, Answers: []openapi.Answer{ok(skills.Listing{}, "All skills, as they are now")},
		}},
		{method: http.MethodGet, path: "/api/v1/skills/{name}", handler: s.getSkill, doc: &openapi.Operation{
			Tag: "skills", Summary: "A skill with its instructions",
			Answers: []openapi.Answer{ok(skills.Detail{}, "It")},
		}},
	}
}

func (s *Server) listSkills(w http.ResponseWriter, r *http.Request) error {
	if s.deps.Skills == nil {
		return writeJSON(w, http.StatusOK, skills.Listing{Items: []skills.Item{}, Skipped: []skills.ProblemItem{}})
	}
	return writeJSON(w, http.StatusOK, s.deps.Skills.Snapshot(r.Context()).Listing())
}

func (s *Server) getSkill(w http.ResponseWriter, r *http.Request) error {
	if s.deps.Skills == nil {
		return errSkillsOff
	}
	a, err := s.deps.Skills.Show(r.Context(), r.PathValue("name"))
	if err != nil {
		return skillError(err)
	}
	return writeJSON(w, http.StatusOK, a.Detail())
}

var errSkillsOff = &httpError{http.StatusConflict, "conflict", "skills are switched off by skills.enabled"}

// skillChange switches skills on or off, all of them or none.
type skillChange struct {
	Action string       `json:"action"` // disable or enable
	Names  []string     `json:"names"`
	Scope  skills.Scope `json:"scope"` // whose state file: project or user; "" = disable in the skill's own, enable in both
}

func (s *Server) postSkills(w http.ResponseWriter, r *http.Request) error {
	var change skillChange
	if err := readBody(r, &change); err != nil {
		return err
	}
	if change.Scope != "" && change.Scope != skills.User && change.Scope != skills.Project {
		return badRequest("scope must be project or user")
	}
	if s.deps.Skills == nil {
		return errSkillsOff
	}
	do := s.deps.Skills.Disable
	switch change.Action {
	case "disable":
	case "enable":
		do = s.deps.Skills.Enable
	default:
		return badRequest(`action must be disable or enable: write {"action": "disable", "names": ["NAME"]}`)
	}
	if len(change.Names) == 0 {
		return badRequest("names is empty: name the skills that are meant")
	}
	if _, err := do(r.Context(), skills.Change{}, change.Scope, change.Names); err != nil {
		return skillError(err)
	}
	return s.listSkills(w, r)
}

func skillError(err error) error {
	if errors.Is(err, skills.ErrUnknown) {
		return notFound("%v", err)
	}
	return conflict("%v", err)
}
