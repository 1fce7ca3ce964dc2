package gateway

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
)

// apiDocument is as much of an OpenAPI document as tests need.
type apiDocument struct {
	OpenAPI string `json:"openapi"`
	Info    struct{ Title, Version string }
	Paths   map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Summary     string
		Parameters  []struct {
			Name, In string
			Required bool
		}
		Responses map[string]struct {
			Description string
			Content     map[string]struct{ Schema json.RawMessage }
		}
	}
	Components struct{ Schemas map[string]json.RawMessage }
}

// documented is the document of a gateway like the tests'.
var documented = sync.OnceValues(func() (apiDocument, error) {
	var d apiDocument
	b, err := (&Server{}).document()
	if err == nil {
		err = json.Unmarshal(b, &d)
	}
	return d, err
})

// strictly resolves references and closes objects: what is not described fails.
func (d apiDocument) strictly(schema any) any {
	switch x := schema.(type) {
	case map[string]any:
		if ref, ok := x["$ref"].(string); ok {
			var target any
			if err := json.Unmarshal(d.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")], &target); err != nil {
				panic(ref + ": " + err.Error())
			}
			return d.strictly(target)
		}
		out := map[string]any{}
		for k, v := range x {
			out[k] = d.strictly(v)
		}
		if _, isObject := x["properties"].(map[string]any); isObject && x["type"] == "object" {
			out["additionalProperties"] = false
		}
		return out
	case []any:
		for i := range x {
			x[i] = d.strictly(x[i])
		}
	}
	return schema
}

// conforms says how an answer differs from what the document promises, "" = not at all.
func (d apiDocument) conforms(method, path string, status int, contentType, body string) string {
	path, _, _ = strings.Cut(path, "?")
	if method == http.MethodHead {
		return ""
	}
	if method == "" {
		method = http.MethodGet
	}
	key, media := "default", "application/json"
	var op, found = d.Paths[""][""], false
	for pattern, methods := range d.Paths {
		if fits(pattern, path) {
			op, found = methods[strings.ToLower(method)]
			break
		}
	}
	if status < http.StatusBadRequest || status == http.StatusServiceUnavailable && path == "/health" {
		if !found {
			return "it is not in the document"
		}
		key = string([]byte{byte('0' + status/100), byte('0' + status/10%10), byte('0' + status%10)})
	} else if !found {
		op = d.Paths["/health"]["get"] // whatever fails, fails alike
	}
	answer, ok := op.Responses[key]
	if !ok {
		return "the document knows no answer with status " + key
	}
	for m := range answer.Content {
		media = m
	}
	if len(answer.Content) == 0 {
		if body != "" {
			return "the document says that there is no body"
		}
		return ""
	}
	if !strings.HasPrefix(contentType, media) {
		return "it is " + contentType + " and the document says " + media
	}
	if media != "application/json" {
		return ""
	}
	var schema, value any
	if err := json.Unmarshal(answer.Content[media].Schema, &schema); err != nil {
		return err.Error()
	}
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		return err.Error()
	}
	if s, ok := schema.(map[string]any); ok && len(s) == 1 && s["type"] == "string" {
		return "" // the document itself
	}
	text, err := json.Marshal(d.strictly(schema))
	if err != nil {
		return err.Error()
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal(text, &parsed); err != nil {
		return err.Error()
	}
	resolved, err := parsed.Resolve(nil)
	if err != nil {
		return err.Error()
	}
	if err := resolved.Validate(value); err != nil {
		return err.Error()
	}
	return ""
}

// fits reports whether a path is one of a pattern's.
func fits(pattern, path string) bool {
	p, q := strings.Split(pattern, "/"), strings.Split(path, "/")
	return slices.EqualFunc(p, q, func(s, in string) bool { return strings.HasPrefix(s, "{") || s == in })
}

// Who adds an endpoint describes it: programs learn from the document what there is.
func TestOpenAPI_EveryRoute_IsDescribed(t *testing.T) {
	for _, rt := range (&Server{}).routes() {
		if rt.doc == nil || rt.doc.Tag == "" || rt.doc.Summary == "" || len(rt.doc.Answers) == 0 {
			t.Errorf("%s %s is not described in /api/v1/openapi.json: give its route a doc (&openapi.Operation{Tag, Summary, Query, Body, Answers}), as those in gateway/sessions.go have", rt.method, rt.path)
		}
	}
}

func TestOpenAPI_IsServed_AndNamesWhatIsThere(t *testing.T) {
	r := newRig(t)
	status, body, header := r.do(http.MethodGet, "/api/v1/openapi.json", nil)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "application/json; charset=utf-8", header.Get("Content-Type"))
	var d apiDocument
	require.NoError(t, json.Unmarshal([]byte(body), &d))
	require.Equal(t, "3.1.0", d.OpenAPI)
	require.Equal(t, "1.2.3", d.Info.Version)

	ids := map[string]bool{}
	var operations int
	for path, methods := range d.Paths {
		for method, op := range methods {
			operations++
			require.False(t, ids[op.OperationID], "%s is there twice", op.OperationID)
			ids[op.OperationID] = true
			names := map[string]bool{}
			for _, p := range op.Parameters {
				require.False(t, names[p.Name], "%s %s: %s", method, path, p.Name)
				names[p.Name] = true
				require.Equal(t, p.In == "path", strings.Contains(path, "{"+p.Name+"}"), "%s %s: %s", method, path, p.Name)
			}
			require.Equal(t, names["cursor"] || names["from_seq"], names["limit"], "%s %s: whoever pages takes a limit", method, path)
			for status, answer := range op.Responses {
				require.NotEmpty(t, answer.Description, "%s %s %s", method, path, status)
			}
			// The handlers know it: an unknown thing is missed, not the endpoint.
			_, body, _ := r.do(strings.ToUpper(method), strings.NewReplacer("{", "", "}", "").Replace(path), nil)
			require.NotContains(t, body, "there is nothing at", "%s %s", method, path)
			require.NotContains(t, body, "method_not_allowed", "%s %s", method, path)
		}
	}
	require.Len(t, (&Server{}).routes(), operations)
	for name, schema := range d.Components.Schemas {
		var s jsonschema.Schema
		require.NoError(t, json.Unmarshal(schema, &s), name)
		_, err := s.Resolve(nil)
		require.NoError(t, err, name)
	}
}

// Every answer that a test of this package gets through rig.do is compared with the
// document; this shows that the comparison sees something.
func TestOpenAPI_AnswerThatDiffers_IsFound(t *testing.T) {
	d, err := documented()
	require.NoError(t, err)
	const json = "application/json; charset=utf-8"
	for _, c := range []struct {
		method, path string
		status       int
		body, want   string
	}{
		{"GET", "/api/v1/skills", 200, `{"items":[],"next":"","skipped":[]}`, ""},
		{"GET", "/api/v1/skills", 200, `{"items":[],"next":""}`, "skipped"},
		{"GET", "/api/v1/skills", 200, `{"items":[],"next":"","skipped":[],"more":1}`, "more"},
		{"GET", "/api/v1/turns?limit=1", 200, `{"items":null,"next":""}`, "null"},
		{"GET", "/api/v1/turns", 201, `{}`, "status 201"},
		{"GET", "/api/v1/dances", 200, `{}`, "not in the document"},
		{"GET", "/api/v1/turns/x", 404, `{"error":{"code":"not_found","message":"no"}}`, ""},
		{"GET", "/api/v1/turns/x", 404, `{"error":"no"}`, "error"},
		{"DELETE", "/api/v1/memories", 204, ``, ""},
	} {
		got := d.conforms(c.method, c.path, c.status, json, c.body)
		if c.want == "" {
			require.Empty(t, got, c.path)
		} else {
			require.Contains(t, got, c.want, c.path)
		}
	}
}
