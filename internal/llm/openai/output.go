package openai

import (
	"encoding/json"
	"errors"
	"strings"

	"picobot/internal/llm"
	"picobot/internal/llm/endpoint"
)

// output is a way to get JSON of a schema. Endpoints differ in which they take: one
// that is refused is not asked for again.
type output int

const (
	outputSchema output = iota // response_format json_schema
	outputObject               // response_format json_object, the schema in words (DeepSeek)
	outputWords                // only words
)

func (p *Provider) firstOutput(req llm.Request) output {
	known, ok := p.outputs.Load(req.Model.ID)
	if !ok || req.Schema == nil {
		return outputSchema
	}
	return known.(output)
}

// next returns the way to try after err, and whether there is one: the endpoint
// refused the request for how it asks for JSON.
func (o output) next(req llm.Request, err error) (output, bool) {
	refused, ok := errors.AsType[*endpoint.Failure](err)
	if !ok || req.Schema == nil || o == outputWords || refused.Kind != llm.KindBadRequest {
		return o, false
	}
	message := strings.ToLower(refused.Message)
	for _, word := range []string{"response_format", "response format", "json_schema", "json_object", "schema", "structured output", "grammar"} {
		if strings.Contains(message, word) {
			return o + 1, true
		}
	}
	return o, false
}

// format is the response_format of a request, nil when there is none.
func (o output) format(s *llm.Schema) json.RawMessage {
	switch {
	case s == nil || o == outputWords:
		return nil
	case o == outputObject:
		return json.RawMessage(`{"type":"json_object"}`)
	}
	return mustJSON(map[string]any{"type": "json_schema", "json_schema": map[string]any{
		"name": s.Name, "schema": s.JSON, "strict": s.Strict()}})
}

// read returns the answer as the request wanted it.
func (o output) read(s *llm.Schema, resp llm.Response) llm.Response {
	if s != nil && o != outputSchema {
		resp.Content = llm.JSONIn(resp.Content)
	}
	return resp
}
