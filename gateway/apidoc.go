package gateway

import (
	"net/http"

	"picobot/gateway/openapi"
)

// The parameters that all lists have.
var (
	limitParam  = openapi.Param{Name: "limit", Description: "at most so many items", Number: true, Min: 1, Max: maxLimit, Default: defaultLimit}
	cursorParam = openapi.Param{Name: "cursor", Description: "the next of the page before"}
)

// textParam is a parameter that takes any text.
func textParam(name, description string) openapi.Param {
	return openapi.Param{Name: name, Description: description}
}

// ok is an answer with status 200 and a body of this type.
func ok(body any, description string) openapi.Answer {
	return openapi.Answer{Status: http.StatusOK, Description: description, Body: body}
}

// apiError is the body of every answer that says what is wrong.
type apiError struct {
	Error apiProblem `json:"error"`
}

type apiProblem struct {
	Code    string `json:"code"`    // for programs
	Message string `json:"message"` // for people
}

func (s *Server) documentRoutes() []route {
	return []route{{method: http.MethodGet, path: "/api/v1/openapi.json", handler: s.getDocument, doc: &openapi.Operation{
		Tag: "gateway", Summary: "This document",
		Answers: []openapi.Answer{{Status: http.StatusOK, Description: "OpenAPI 3.1", Media: "application/json"}},
	}}}
}

// document is the OpenAPI document of all routes that are described.
func (s *Server) document() ([]byte, error) {
	var endpoints []openapi.Endpoint
	for _, rt := range s.routes() {
		if rt.doc != nil { // TestOpenAPI_EveryRoute_IsDescribed: every one is
			endpoints = append(endpoints, openapi.Endpoint{Method: rt.method, Path: rt.path, Open: rt.open, Operation: *rt.doc})
		}
	}
	return openapi.Document(openapi.Info{
		Title: "PicoBot", Version: s.opts.Version, Error: apiError{},
		Description: "What a PicoBot gateway tells and takes over HTTP. Whoever has the token is its operator. Keys may be added to answers in later versions.",
	}, endpoints)
}

func (s *Server) getDocument(w http.ResponseWriter, _ *http.Request) error {
	b, err := s.document()
	if err != nil {
		return err
	}
	return writeJSONText(w, http.StatusOK, b)
}
