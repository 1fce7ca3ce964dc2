package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/llm"
)

func TestJSONIn_AnswersWithWordsAround(t *testing.T) {
	for answer, want := range map[string]string{
		`{"a":1}`:                             `{"a":1}`,
		" {\"a\": {\"b\": 2}}\n":              `{"a": {"b": 2}}`,
		"```json\n{\"a\":1}\n```":             `{"a":1}`,
		"Sure {well}: {\"a\":\"}{\"} and {}.": `{"a":"}{"}`,
		"no JSON":                             "no JSON",
		"{half":                               "{half",
		"":                                    "",
	} {
		require.Equal(t, want, llm.JSONIn(answer))
	}
}

func TestStrict_OnlyOfClosedSchemas(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}`:                                         true,
		`{"type":"object","additionalProperties":false}`:                                                                                true,
		`{"type":"object","properties":{"a":{}},"additionalProperties":false}`:                                                          false,
		`{"type":"object","properties":{"a":{}},"required":["a"]}`:                                                                      false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},"required":["a"],"additionalProperties":false}`: false,
		`{"properties":{"a":{}}}`: false,
		`{`:                       false,
	} {
		require.Equal(t, want, llm.Schema{JSON: json.RawMessage(schema)}.Strict(), schema)
	}
}

func TestUniqueIDs_KeepWhatTheyCan(t *testing.T) {
	require.Equal(t, []string{"x", "x_3", "x_2", "call_4", "call_5"}, llm.UniqueIDs([]string{"x", "x", "x_2", "", ""}))
	require.Equal(t, []string{"call_2", "call_2_2"}, llm.UniqueIDs([]string{"call_2", ""}))
}
