package openapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Endpoint is an operation with its place.
type Endpoint struct {
	Method string // GET
	Path   string // a pattern of http.ServeMux: /jobs/{id}
	Open   bool   // it needs no token
	Operation
}

// Info is what the document says of the API as a whole.
type Info struct {
	Title, Version, Description string
	// Error is a value of the type of the body with which all failures are answered.
	Error any
}

type object = map[string]any

// Document writes the OpenAPI 3.1 document of an API.
func Document(info Info, endpoints []Endpoint) ([]byte, error) {
	s := &schemas{components: object{}, types: map[string]reflect.Type{}}
	failed, err := s.of(info.Error)
	if err != nil {
		return nil, err
	}
	paths := object{}
	for _, e := range endpoints {
		o, err := s.operation(e, failed)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", e.Method, e.Path, err)
		}
		if paths[e.Path] == nil {
			paths[e.Path] = object{}
		}
		paths[e.Path].(object)[strings.ToLower(e.Method)] = o
	}
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info":    object{"title": info.Title, "version": info.Version, "description": info.Description},
		"servers": []object{{"url": "/"}},
		"security": []object{
			{"token": []string{}},
		},
		"paths": paths,
		"components": object{
			"schemas":         s.components,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
		},
	})
}

var inPath = regexp.MustCompile(`\{(\w+)\}`)

func (s *schemas) operation(e Endpoint, failed object) (object, error) {
	o := object{"tags": []string{e.Tag}, "summary": e.Summary, "operationId": operationID(e)}
	if e.Description != "" {
		o["description"] = e.Description
	}
	if e.Open {
		o["security"] = []object{}
	}
	parameters := []object{}
	for _, m := range inPath.FindAllStringSubmatch(e.Path, -1) {
		parameters = append(parameters, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range e.Query {
		parameters = append(parameters, object{"name": p.Name, "in": "query", "description": p.Description, "schema": p.schema()})
	}
	if len(parameters) > 0 {
		o["parameters"] = parameters
	}
	if e.Body != nil {
		body, err := s.ofBody(e.Body)
		if err != nil {
			return nil, err
		}
		o["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": body}}}
	}
	responses := object{
		"default": object{"description": "What is wrong", "content": object{"application/json": object{"schema": failed}}},
	}
	for _, a := range e.Answers {
		answer := object{"description": a.Description}
		switch {
		case a.Media != "":
			answer["content"] = object{a.Media: object{"schema": object{"type": "string"}}}
		case a.Body != nil:
			body, err := s.of(a.Body)
			if err != nil {
				return nil, err
			}
			answer["content"] = object{"application/json": object{"schema": body}}
		}
		responses[strconv.Itoa(a.Status)] = answer
	}
	o["responses"] = responses
	return o, nil
}

func (p Param) schema() object {
	if !p.Number {
		o := object{"type": "string"}
		if len(p.Values) > 0 {
			o["enum"] = p.Values
		}
		return o
	}
	o := object{"type": "integer"}
	for key, n := range map[string]int64{"minimum": p.Min, "maximum": p.Max, "default": p.Default} {
		if n != 0 {
			o[key] = n
		}
	}
	return o
}

// operationID names an operation for programs that make code of the document:
// get_jobs_id_runs.
func operationID(e Endpoint) string {
	path := strings.NewReplacer("{", "", "}", "", "/api/v1", "", ".", "_").Replace(e.Path)
	return strings.ToLower(e.Method) + strings.ReplaceAll(path, "/", "_")
}
