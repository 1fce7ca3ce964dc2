package chat

import (
	"bytes"
	"encoding/json"
	"strings"
)

// signedPrefix begins reasoning that is stored with more than its text.
const signedPrefix = `{"_signed":`

// Reasoning is what a model thought before it answered, in a form that a row's
// reasoning_content keeps. Most providers give a text, and the row holds just
// that. Some sign their thoughts and take them back only as they were, word for
// word and in their place (https://platform.claude.com/docs/en/build-with-claude/thinking):
// those rows hold one JSON object, {"_signed": …}. Whoever shows reasoning to
// people shows ReasoningText of it.
type Reasoning struct {
	By     string           `json:"by"` // who signed it, a provider's kind and a model; "" = it is only text
	Blocks []ReasoningBlock `json:"blocks"`
}

// ReasoningBlock is one thought, or a mark that says what of the answer stood
// between two thoughts.
type ReasoningBlock struct {
	Text      string `json:"text,omitempty"`      // readable, may be empty although signed
	Signature string `json:"signature,omitempty"` // what proves the text, or carries it
	Redacted  string `json:"redacted,omitempty"`  // a thought nobody may read

	Said  int `json:"said,omitempty"`  // here stood so many bytes of the content
	Calls int `json:"calls,omitempty"` // here stood so many of the calls
}

// Text returns what people can read of it.
func (r Reasoning) Text() string {
	var parts []string
	for _, b := range r.Blocks {
		if b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// Stored returns the form a row keeps. ParseReasoning gets everything back.
func (r Reasoning) Stored() string {
	if text := r.Text(); r.By == "" && !strings.HasPrefix(text, signedPrefix) {
		return text
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	// Strings and numbers always encode.
	_ = e.Encode(map[string]Reasoning{"_signed": r})
	return strings.TrimSpace(out.String())
}

// StoredReasoning returns the form a row keeps of reasoning that is only text.
func StoredReasoning(text string) string {
	if text == "" {
		return ""
	}
	return Reasoning{Blocks: []ReasoningBlock{{Text: text}}}.Stored()
}

// ParseReasoning reads a row's reasoning_content.
func ParseReasoning(stored string) Reasoning {
	if stored == "" {
		return Reasoning{}
	}
	if strings.HasPrefix(stored, signedPrefix) {
		var outer struct {
			Signed *Reasoning `json:"_signed"`
		}
		if json.Unmarshal([]byte(stored), &outer) == nil && outer.Signed != nil {
			return *outer.Signed
		}
	}
	return Reasoning{Blocks: []ReasoningBlock{{Text: stored}}}
}

// ReasoningText returns what people can read of a row's reasoning_content.
func ReasoningText(stored string) string { return ParseReasoning(stored).Text() }
