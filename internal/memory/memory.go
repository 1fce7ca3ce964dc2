package memory

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// KindUser is the only kind of scope: memories belong to a person.
const KindUser = "user"

// Types of sources.
const (
	SourceTool        = "memory_manage"      // the model, in a turn
	SourceAPI         = "api"                // an operator
	SourceMaintenance = "memory_maintenance" // tidying up
)

// Scope is whose memories are meant: a person, as one channel knows them. It never
// comes from what a model writes.
func Scope(channel, senderID string) string { return channel + ":" + senderID }

// Name names one memory within a scope.
type Name struct {
	Namespace string `json:"namespace"`
	Key       string `json:"key"`
}

func (n Name) String() string { return n.Namespace + "/" + n.Key }

// Source is where a memory comes from. Fields that do not apply are empty.
type Source struct {
	Type       string
	SessionID  string
	MessageID  string // the user's message of the turn
	MessageSeq int64
	Channel    string
	ChatID     string
}

// Memory is one thing that is remembered of a person.
type Memory struct {
	ID    string
	Scope string
	Name
	Content   string
	Source    Source
	CreatedAt int64 // ms
	UpdatedAt int64 // ms
}

// Hit is a memory that a search found.
type Hit struct {
	Memory
	Snippet string // where the search's words are in the content
}

// Filter selects memories.
type Filter struct {
	Scope     string // "" = everybody's: for operators only
	Namespace string // "" = all
	After     Cursor // where the list before ended
	Limit     int
}

// Cursor is a place in a list of memories, which is in the order of scope, namespace
// and key. The zero value is the beginning.
type Cursor struct{ Scope, Namespace, Key string }

// Cursor returns the place just behind m.
func (m Memory) Cursor() Cursor { return Cursor{m.Scope, m.Namespace, m.Key} }

// String is the cursor as programs pass it on; "" = the beginning. Names may hold
// anything, so it is not made of them as they are.
func (c Cursor) String() string {
	if c == (Cursor{}) {
		return ""
	}
	raw, _ := json.Marshal(c) // texts can always be written
	return base64.RawURLEncoding.EncodeToString(raw)
}

// ParseCursor reads what String wrote.
func ParseCursor(text string) (Cursor, error) {
	var c Cursor
	if text == "" {
		return c, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil {
		return Cursor{}, fmt.Errorf("%q is no cursor: pass on the next of the page before, as it is", text)
	}
	return c, nil
}

// Overview says what there is of a person.
type Overview struct {
	Count      int      // memories
	Namespaces []string // the largest first, at most 20
}

// MissingError is returned for a memory that is not there.
type MissingError struct {
	Name    Name
	Nearest []Name // what may have been meant
}

func (e *MissingError) Error() string {
	text := fmt.Sprintf("there is no memory %q in namespace %q", e.Name.Key, e.Name.Namespace)
	if len(e.Nearest) == 0 {
		return text
	}
	near := make([]string, len(e.Nearest))
	for i, n := range e.Nearest {
		near[i] = n.String()
	}
	return text + "; the nearest are " + strings.Join(near, ", ")
}
