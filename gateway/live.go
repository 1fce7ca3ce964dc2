package gateway

import (
	"encoding/json"
	"net/http"
	"slices"

	"picobot/gateway/openapi"
	"picobot/internal/live"
	"picobot/internal/llm"
)

func (s *Server) liveRoutes() []route {
	return []route{{method: http.MethodPost, path: "/api/v1/live", handler: s.postLive, doc: &openapi.Operation{
		Tag: "gateway", Summary: "What is of the moment in another process",
		Description: "For `picobot worker`: text that streams in, tools that start, and which sessions have changed, for the clients of this gateway. Best effort; the record tells the rest.",
		Body:        relayed{},
		Answers:     []openapi.Answer{{Status: http.StatusNoContent, Description: "It was passed on"}},
	}}}
}

// relayed are news in the order in which they happened, none to find out whether
// somebody takes them.
type relayed struct {
	News []live.News `json:"news"`
}

// maxRelayed bounds what a worker hands over at once, in bytes: all that a live.Tap
// keeps, in JSON at its most verbose.
const maxRelayed = 8 << 20

// postLive passes on what a worker knows of the moment. What is not known here is left
// out: the worker may be of another build.
func (s *Server) postLive(w http.ResponseWriter, r *http.Request) error {
	body, err := bodyUpTo(r, maxRelayed)
	if err != nil {
		return err
	}
	var got relayed
	if err := json.Unmarshal(body, &got); err != nil {
		return badRequest("the body is not what is expected here: %v", err)
	}
	for i, n := range got.News {
		got.News[i].Progress = slices.DeleteFunc(n.Progress, unshown)
	}
	s.deps.Hub.Pass(got.News)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// unshown reports progress of a kind that there is no frame for, and of calls that
// cannot be.
func unshown(p live.Progress) bool {
	if p.Tool != nil {
		return p.Tool.Position < 0
	}
	return p.Notice == nil && p.Kind != llm.DeltaText && p.Kind != llm.DeltaReasoning
}
