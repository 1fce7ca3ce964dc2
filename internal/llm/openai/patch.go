package openai

import (
	"encoding/json"
	"fmt"
	"maps"

	"picobot/internal/llm"
	"picobot/internal/llm/endpoint"
)

// patch is what a request body needs that go-openai cannot write: the model as it
// is named, a temperature of 0, the right field for the limit, fields it does not
// know.
type patch map[string]json.RawMessage

// ReservedFields are the adapter's business: a model's extra fields do not set them.
func ReservedFields() []string { return []string{"messages", "stream", "tools"} }

// patchFor builds the patch of one request. The model's extra fields come last and
// win; an extra field of null removes what the adapter would have sent.
func patchFor(baseURL string, req llm.Request, o output) patch {
	p := patch{"model": mustJSON(req.Model.ID)}
	if t := req.Model.Temperature; t != nil && takesTemperature(req.Model.ID) {
		p["temperature"] = mustJSON(*t)
	}
	if n := req.Model.MaxOutputTokens; n > 0 {
		_, old := req.Model.Extra["max_tokens"]
		_, new := req.Model.Extra["max_completion_tokens"]
		if !old && !new {
			p[maxTokensField(baseURL, req.Model.ID)] = mustJSON(n)
		}
	}
	if format := o.format(req.Schema); format != nil {
		p["response_format"] = format
	}
	extra := maps.Clone(req.Model.Extra)
	for _, field := range ReservedFields() {
		delete(extra, field)
	}
	maps.Copy(p, extra)
	return p
}

// mustJSON is for values that always marshal. NaN and infinities do not; they
// become null, which removes the field.
func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

// apply rewrites a request body: the patch's fields, and the content of messages
// that go-openai leaves out when it is empty. With echo, calls that were made without
// a thought carry an empty one: who wants it back refuses them otherwise ("thinking
// is enabled but reasoning_content is missing in assistant tool call message").
func (p patch) apply(body []byte, echo bool) ([]byte, error) {
	body, err := endpoint.Merge(body, p)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, fmt.Errorf("read request body: %w", err)
	}
	var messages []map[string]json.RawMessage
	if err := json.Unmarshal(fields["messages"], &messages); err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	filled := false
	for _, m := range messages {
		if _, ok := m["content"]; !ok {
			m["content"] = json.RawMessage(`""`)
			filled = true
		}
		_, calls := m["tool_calls"]
		if _, ok := m["reasoning_content"]; !ok && calls && echo {
			m["reasoning_content"] = json.RawMessage(`""`)
			filled = true
		}
	}
	if filled {
		fields["messages"] = mustJSON(messages)
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("write request body: %w", err)
	}
	return out, nil
}
