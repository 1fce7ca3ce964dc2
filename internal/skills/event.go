package skills

import "context"

// Event is something that happened to a skill.
type Event struct {
	Skill     string // "" = all of them
	Kind      Kind
	Scope     Scope
	SessionID string // whose turn it was; "" = nobody's
	// Detail says more, for people and programs. It is made into JSON.
	Detail map[string]any
}

// Kind says what happened.
type Kind string

// What may happen. A skill that is switched on again is in the detail of the reload
// that follows.
const (
	Discovered Kind = "discovered"
	Skipped    Kind = "skipped"
	Activated  Kind = "activated"
	Created    Kind = "created"
	Updated    Kind = "updated"
	Deleted    Kind = "deleted"
	Disabled   Kind = "disabled"
	Reloaded   Kind = "reloaded"
)

// Recorder writes events down. Discoveries come again with every start: it is the
// recorder that knows which are news.
type Recorder func(ctx context.Context, events []Event) error
