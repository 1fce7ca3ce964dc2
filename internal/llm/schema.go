package llm

import (
	"encoding/json"
	"strings"
)

// Schema asks for an answer that is one JSON object of a form. Adapters hold the
// model to it as far as the endpoint can; whoever asked checks the answer all the
// same.
type Schema struct {
	Name string          // letters, digits, _ and -
	JSON json.RawMessage // JSON schema of an object
}

// Instruction asks for the form in words, for endpoints that know no other way.
func (s Schema) Instruction() string {
	return "Answer with one JSON object and nothing else: no explanation, no code fence. It has to be valid under this JSON schema:\n" + string(s.JSON)
}

// Strict reports whether a schema is of the closed kind that endpoints can enforce
// while the model writes: every object lists all its properties as required and
// allows no others (https://platform.openai.com/docs/guides/structured-outputs).
func (s Schema) Strict() bool {
	var schema any
	return json.Unmarshal(s.JSON, &schema) == nil && strict(schema)
}

func strict(schema any) bool {
	switch v := schema.(type) {
	case []any:
		for _, inner := range v {
			if !strict(inner) {
				return false
			}
		}
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok || v["type"] == "object" {
			required, _ := v["required"].([]any)
			if v["additionalProperties"] != false || len(required) != len(properties) {
				return false
			}
		}
		for _, inner := range v {
			if !strict(inner) {
				return false
			}
		}
	}
	return true
}

// JSONIn returns the JSON object in an answer that has a code fence or words around
// it, and the answer as it is when there is none.
func JSONIn(answer string) string {
	for from := 0; from < len(answer); from++ {
		at := strings.IndexByte(answer[from:], '{')
		if at < 0 {
			break
		}
		from += at
		var object json.RawMessage
		if json.NewDecoder(strings.NewReader(answer[from:])).Decode(&object) == nil {
			return string(object)
		}
	}
	return answer
}
