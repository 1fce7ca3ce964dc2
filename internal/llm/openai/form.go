package openai

import (
	"encoding/json"
	"slices"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/llm/endpoint"
)

// output is a way to get JSON of a schema.
type output int

const (
	outputSchema output = iota // response_format json_schema
	outputObject               // response_format json_object, the schema in words (DeepSeek)
	outputWords                // only words
)

// form is how a request is put. Endpoints differ in what they take, and only they
// know: a request that is refused for its form is put in another one, and what was
// found to be taken is kept for the next.
type form struct {
	output output
	echo   bool // earlier reasoning goes back
	turned bool // echo is not what it was at first
}

func (p *Provider) firstForm(req llm.Request) form {
	f := form{echo: echoesReasoning(req.Model)}
	if known, ok := p.forms.Load(req.Model.ID); ok {
		found := known.(form)
		f.output = found.output
		if automatic(req.Model) && found.turned {
			f.echo = found.echo
		}
	}
	return f
}

// without returns the form to try after err, and whether there is one.
func (f form) without(req llm.Request, err error) (form, bool) {
	says := func(words ...string) bool { return endpoint.Refuses(err, words...) }
	switch {
	case automatic(req.Model) && !f.turned && hasAnswers(req) && says("reasoning_content"):
		f.echo, f.turned = !f.echo, true
		return f, true
	case req.Schema != nil && f.output < outputWords &&
		says("response_format", "response format", "json_schema", "json_object", "schema", "structured output", "grammar"):
		f.output++
		return f, true
	}
	return f, false
}

// hasAnswers reports that there is something whose reasoning could go back.
func hasAnswers(req llm.Request) bool {
	return slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return m.Role == chat.RoleAssistant })
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
