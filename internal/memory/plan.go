package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"picobot/internal/schema"
)

// Plan is what a model proposes to do about a person's memories.
type Plan struct {
	Facts             []string   `json:"facts" jsonschema:"what is so: names, dates, places, work, family"`
	Preferences       []string   `json:"preferences" jsonschema:"what the person likes, wants, avoids"`
	BehaviourPatterns []string   `json:"behaviour_patterns" jsonschema:"what the person does again and again"`
	Other             []string   `json:"other" jsonschema:"what else is worth knowing in every conversation"`
	Merge             []Merge    `json:"merge" jsonschema:"memories that say the same, or belong together, and the one that takes their place"`
	Delete            []Deletion `json:"delete" jsonschema:"memories that are wrong, outdated or empty"`
	Conflicts         []Conflict `json:"conflicts" jsonschema:"memories that contradict each other where nothing tells which is right"`
	ManagedMarkdown   string     `json:"managed_markdown" jsonschema:"notes on the person as Markdown, short: they are in every conversation"`
}

// Merge replaces memories by one that says what they said.
type Merge struct {
	Into struct {
		Name
		Content string `json:"content"`
	} `json:"into"`
	From []Name `json:"from"`
}

// Deletion forgets a memory.
type Deletion struct {
	Name
	Reason string `json:"reason"`
}

// Conflict is a contradiction that a person has to decide.
type Conflict struct {
	Items []Name `json:"items"`
	Note  string `json:"note"`
}

// Bounds of a plan. What is beyond them is no tidying up.
const (
	maxNote         = 2000 // characters of a line or a note
	maxNotes        = 200  // lines of a kind
	MaxMarkdown     = 8000 // characters of a person's notes
	maxPlanBytes    = 1 << 20
	maxPlanElements = 1000
)

// planSchema is the schema of a plan in all its forms, made when it is first needed.
var planSchema = sync.OnceValue(func() (p struct {
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
	json     json.RawMessage
}) {
	var err error
	if p.schema, err = schema.Of[Plan](); err == nil {
		p.json, err = json.Marshal(p.schema)
	}
	if err == nil {
		p.resolved, err = p.schema.Resolve(nil)
	}
	if err != nil {
		panic("memory: schema of a plan: " + err.Error()) // a mistake in the program
	}
	return p
})

// PlanSchema is the JSON schema of a plan. All of it is required and nothing else is
// allowed, so that endpoints can hold a model to it.
func PlanSchema() json.RawMessage { return planSchema().json }

// ParsePlan reads a model's answer. Its error says what is wrong with it, without
// repeating what it says: it is shown to people and to Temporal.
func ParsePlan(answer string) (Plan, error) {
	var p Plan
	if len(answer) > maxPlanBytes {
		return p, fmt.Errorf("it is %d bytes long", len(answer))
	}
	var value any
	if err := json.Unmarshal([]byte(answer), &value); err != nil {
		return p, errors.New("it is no JSON")
	}
	if err := planSchema().resolved.Validate(value); err != nil {
		return p, fmt.Errorf("it does not have the form that was asked for: %s", where(value))
	}
	if err := json.Unmarshal([]byte(answer), &p); err != nil {
		return p, errors.New("it does not have the form that was asked for")
	}
	return p, p.bounds()
}

// where says which part of a plan has not the right form: one of the schema's own names.
func where(value any) string {
	object, ok := value.(map[string]any)
	if !ok {
		return "it is no object"
	}
	plan := planSchema().schema
	for _, name := range plan.PropertyOrder {
		v, ok := object[name]
		if !ok {
			return name + " is missing"
		}
		if r, err := plan.Properties[name].CloneSchemas().Resolve(nil); err == nil && r.Validate(v) != nil {
			return name + " is wrong"
		}
	}
	return "it has more than that"
}

func (p Plan) bounds() error {
	for name, lines := range map[string][]string{"facts": p.Facts, "preferences": p.Preferences, "behaviour_patterns": p.BehaviourPatterns, "other": p.Other} {
		if len(lines) > maxNotes {
			return fmt.Errorf("it has more than %d %s", maxNotes, name)
		}
		for _, l := range lines {
			if utf8.RuneCountInString(l) > maxNote {
				return fmt.Errorf("an element of %s is longer than %d characters", name, maxNote)
			}
		}
	}
	if n := len(p.Merge) + len(p.Delete) + len(p.Conflicts); n > maxPlanElements {
		return fmt.Errorf("it wants to do %d things at once, at most %d are taken", n, maxPlanElements)
	}
	if utf8.RuneCountInString(p.ManagedMarkdown) > MaxMarkdown {
		return fmt.Errorf("managed_markdown is longer than %d characters", MaxMarkdown)
	}
	for _, d := range p.Delete {
		if utf8.RuneCountInString(d.Reason) > maxNote {
			return fmt.Errorf("a reason is longer than %d characters", maxNote)
		}
	}
	for _, c := range p.Conflicts {
		if utf8.RuneCountInString(c.Note) > maxNote || len(c.Items) > maxNotes {
			return errors.New("a conflict is too long")
		}
	}
	return nil
}

// Markdown is what the plan has to say of the person for every conversation, "" when it
// has nothing.
func (p Plan) Markdown() string {
	if text := strings.TrimSpace(p.ManagedMarkdown); text != "" {
		return text
	}
	var b strings.Builder
	for _, part := range []struct {
		title string
		lines []string
	}{{"Facts", p.Facts}, {"Preferences", p.Preferences}, {"Behaviour patterns", p.BehaviourPatterns}, {"Other", p.Other}} {
		if len(part.lines) == 0 {
			continue
		}
		fmt.Fprintf(&b, "### %s\n\n", part.title)
		for _, l := range part.lines {
			fmt.Fprintf(&b, "- %s\n", strings.Join(strings.Fields(l), " "))
		}
		b.WriteString("\n")
	}
	text := strings.TrimSpace(b.String())
	if utf8.RuneCountInString(text) <= MaxMarkdown {
		return text
	}
	text = head(text, MaxMarkdown)
	return text[:strings.LastIndexByte(text, '\n')+1] // whole lines
}
