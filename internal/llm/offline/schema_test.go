package offline_test

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/llm/offline"
)

func TestASchema_IsAnsweredWithTheSmallestJSONThatIsValid(t *testing.T) {
	for name, row := range map[string]struct{ schema, want string }{
		"a plan with nothing in it": {`{"type":"object","properties":{"facts":{"type":"array","items":{"type":"string"}},"merge":{"type":"array","items":{"$ref":"#/$defs/merge"}},"managed_markdown":{"type":"string"},"note":{"type":"string"}},
			"required":["facts","merge","managed_markdown"],"additionalProperties":false,"$defs":{"merge":{"type":"object"}}}`, `{"facts":[],"managed_markdown":"","merge":[]}`},
		"what must be there": {`{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer","minimum":3},"minItems":2},"b":{"enum":["x","y"]},"c":{"const":7},"d":{"type":"string","minLength":3},
			"e":{"type":["null","string"]},"f":{"anyOf":[{"type":"boolean"},{"type":"null"}]},"g":{"properties":{"h":{"$ref":"#/$defs/n"}},"required":["h"]},"i":{}},
			"required":["a","b","c","d","e","f","g","i"],"$defs":{"n":{"type":"number","exclusiveMinimum":1.5}}}`,
			`{"a":[3,3],"b":"x","c":7,"d":"xxx","e":null,"f":false,"g":{"h":2},"i":null}`},
		"nothing must be there": {`{"type":"object"}`, `{}`},
		"below zero":            {`{"type":"object","properties":{"a":{"type":"integer","maximum":-2}},"required":["a"]}`, `{"a":-2}`},
	} {
		t.Run(name, func(t *testing.T) {
			req := llm.Request{Messages: []llm.Message{{Message: chat.Message{Role: chat.RoleUser, Content: "loop 3"}}},
				Schema: &llm.Schema{Name: "plan", JSON: json.RawMessage(row.schema)}}
			for range 3 {
				got, err := offline.New(offline.Options{}).Complete(t.Context(), req, nil)
				require.NoError(t, err)
				require.Equal(t, row.want, got.Content)
				require.Equal(t, llm.StopEnd, got.Stop)
				require.Empty(t, got.ToolCalls)
			}
			var schema jsonschema.Schema
			require.NoError(t, json.Unmarshal([]byte(row.schema), &schema))
			resolved, err := schema.Resolve(nil)
			require.NoError(t, err)
			var value any
			require.NoError(t, json.Unmarshal([]byte(row.want), &value))
			require.NoError(t, resolved.Validate(value))
		})
	}
}

func TestASchema_ThatCannotBeMet_IsAnsweredAllTheSame(t *testing.T) {
	for _, schema := range []string{`{`, `[]`, `{"$ref":"#"}`, `{"$ref":"#/nowhere"}`, `{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`,
		`{"type":"array","minItems":1000,"items":{"$ref":"#"}}`} {
		req := llm.Request{Schema: &llm.Schema{Name: "plan", JSON: json.RawMessage(schema)}}
		got, err := offline.New(offline.Options{}).Complete(t.Context(), req, nil)
		require.NoError(t, err)
		require.True(t, json.Valid([]byte(got.Content)), got.Content)
	}
}

func TestASchema_DoesNotHideAScriptedFailure(t *testing.T) {
	req := llm.Request{Messages: []llm.Message{{Message: chat.Message{Role: chat.RoleUser, Content: "fail 503"}}}, Schema: &llm.Schema{JSON: json.RawMessage(`{}`)}}
	_, err := offline.New(offline.Options{}).Complete(t.Context(), req, nil)
	require.Equal(t, llm.KindOverloaded, llm.KindOf(err))
}
