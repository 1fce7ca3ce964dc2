package chat

import (
	"encoding/json"
	"strings"
)

// unparsedKey holds, in a stored call, arguments that were no JSON object.
const unparsedKey = "_unparsed"

// StoredArguments returns arguments in the form the record keeps them: always a
// JSON object, since one bad string in a history makes every later request
// invalid. What is no object is wrapped, and RawArguments gets it back.
func StoredArguments(raw string) string {
	trimmed := strings.TrimSpace(raw)
	if trimmed == "" {
		return "{}"
	}
	if trimmed[0] == '{' && json.Valid([]byte(trimmed)) {
		return trimmed
	}
	b, err := json.Marshal(map[string]string{unparsedKey: strings.ToValidUTF8(raw, "\uFFFD")})
	if err != nil {
		return "{}" // a map of strings always marshals
	}
	return string(b)
}

// RawArguments returns what the model wrote.
func RawArguments(stored string) string {
	if !strings.Contains(stored, unparsedKey) {
		return stored
	}
	var wrapped map[string]json.RawMessage
	if json.Unmarshal([]byte(stored), &wrapped) != nil || len(wrapped) != 1 {
		return stored
	}
	var raw string
	if json.Unmarshal(wrapped[unparsedKey], &raw) != nil {
		return stored
	}
	return raw
}
