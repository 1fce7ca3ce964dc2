package gateway

import (
	"net/http"

	"picobot/gateway/openapi"
)

func (s *Server) yieldRoutes() []route {
	return []route{{method: http.MethodPost, path: "/api/v1/yield", handler: s.postYield, doc: &openapi.Operation{
		Tag: "gateway", Summary: "Give the home up to a gateway that was started to stay",
		Description: "For a gateway that runs inside `picobot agent`. It stops, and its clients find the other one. Any other gateway answers 409.",
		Answers:     []openapi.Answer{{Status: http.StatusAccepted, Description: "It stops", Body: yielding{}}},
	}}}
}

type yielding struct {
	Yielding bool `json:"yielding"`
}

func (s *Server) postYield(w http.ResponseWriter, _ *http.Request) error {
	if s.deps.Yield == nil {
		return conflict("this gateway was started to stay: stop it where it runs")
	}
	s.log.Info("another gateway takes the home over")
	defer s.deps.Yield() // what is being answered is answered before the server stops
	return writeJSON(w, http.StatusAccepted, yielding{true})
}
