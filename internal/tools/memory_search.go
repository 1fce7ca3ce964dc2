package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"picobot/internal/brief"
	"picobot/internal/memory"
)

//go:embed memory_search.md
var memorySearchDescription string

const (
	usualMemories = 10
	mostMemories  = 50
	// longSnippet is what a list shows of a memory, in characters.
	longSnippet = 200
)

type memorySearchArgs struct {
	Action    string `json:"action" jsonschema:"what to do"`
	Query     string `json:"query,omitempty" jsonschema:"words or a question, in any language; for search"`
	Namespace string `json:"namespace,omitempty" jsonschema:"only this namespace; needed for get"`
	Key       string `json:"key,omitempty" jsonschema:"the memory's key; for get"`
	Limit     int    `json:"limit,omitempty" jsonschema:"how many memories to return"`
}

// MemoryReader is where memory_search looks. Names are clean. Memory fails with
// *memory.MissingError for what is not there.
type MemoryReader interface {
	Memory(ctx context.Context, scope string, n memory.Name) (memory.Memory, error)
	Memories(ctx context.Context, f memory.Filter) ([]memory.Memory, error)
	SearchMemories(ctx context.Context, scope, namespace, query string, limit int) ([]memory.Hit, error)
	MemoryOverview(ctx context.Context, scope string) (memory.Overview, error)
}

// MemorySearch is the tool memory_search. zone is the one times are shown in; nil =
// the machine's.
func MemorySearch(r MemoryReader, zone *time.Location) Tool {
	if zone == nil {
		zone = time.Local
	}
	return New(Spec[memorySearchArgs]{
		Name:        "memory_search",
		Description: memorySearchDescription,
		Effect:      ReadOnly,
		Summary: func(a memorySearchArgs) string {
			return strings.TrimSpace(a.Action + " " + strings.Trim(a.Namespace+"/"+a.Key, "/") + " " + a.Query)
		},
		Refine: func(s *jsonschema.Schema) {
			s.Properties["action"].Enum = []any{"search", "get", "list"}
			s.Properties["limit"].Minimum = jsonschema.Ptr(1.0)
			s.Properties["limit"].Maximum = jsonschema.Ptr(float64(mostMemories))
		},
	}, func(ctx context.Context, c Call, a memorySearchArgs) (string, error) {
		if c.SenderID == "" {
			return "", errNobody
		}
		l := memoryLook{reader: r, zone: zone, scope: memory.Scope(c.Channel, c.SenderID), limit: a.Limit}
		if l.limit == 0 {
			l.limit = usualMemories
		}
		if a.Namespace != "" {
			var err error
			if a.Namespace, err = memory.CleanNamespace(a.Namespace); err != nil {
				return "", err
			}
		}
		switch a.Action {
		case "get":
			return l.get(ctx, memory.Name{Namespace: a.Namespace, Key: a.Key})
		case "list":
			return l.list(ctx, a.Namespace)
		}
		return l.search(ctx, a.Namespace, a.Query)
	})
}

// memoryLook is one look into somebody's memories.
type memoryLook struct {
	reader MemoryReader
	zone   *time.Location
	scope  string
	limit  int
}

func (l memoryLook) search(ctx context.Context, namespace, query string) (string, error) {
	if strings.TrimSpace(query) == "" {
		return "", errors.New("query is empty: write the words to look for, or use the action list")
	}
	if n := len([]rune(query)); n > memory.MaxQuery {
		return "", fmt.Errorf("the query is %d characters long, at most %d are taken: write only the words to look for", n, memory.MaxQuery)
	}
	hits, err := l.reader.SearchMemories(ctx, l.scope, namespace, query, l.limit)
	if err != nil {
		return "", err
	}
	if len(hits) == 0 {
		there, err := l.there(ctx, namespace)
		return fmt.Sprintf("Nothing was found. %s", there), err
	}
	var b strings.Builder
	for i, h := range hits {
		fmt.Fprintf(&b, "%d. %s (%s): %s\n", i+1, h.Name, l.day(h.UpdatedAt), h.Snippet)
	}
	return b.String(), nil
}

func (l memoryLook) get(ctx context.Context, n memory.Name) (string, error) {
	if n.Namespace == "" || n.Key == "" {
		return "", errors.New("get needs both namespace and key")
	}
	name, err := memory.CleanName(n)
	if err != nil {
		return "", err
	}
	m, err := l.reader.Memory(ctx, l.scope, name)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s (%s): %s", m.Name, l.day(m.UpdatedAt), m.Content), nil
}

func (l memoryLook) list(ctx context.Context, namespace string) (string, error) {
	list, err := l.reader.Memories(ctx, memory.Filter{Scope: l.scope, Namespace: namespace, Limit: l.limit + 1})
	if err != nil {
		return "", err
	}
	there, err := l.there(ctx, namespace)
	if err != nil || len(list) == 0 {
		return there, err
	}
	var b strings.Builder
	for _, m := range list[:min(len(list), l.limit)] {
		fmt.Fprintf(&b, "- %s (%s): %s\n", m.Name, l.day(m.UpdatedAt), brief.Cut(brief.OneLine(m.Content), longSnippet))
	}
	if len(list) > l.limit {
		fmt.Fprintf(&b, "[there are more. %s Use search, a namespace, or a greater limit]\n", there)
	}
	return b.String(), nil
}

// there says what there is, for a model that found nothing or not all.
func (l memoryLook) there(ctx context.Context, namespace string) (string, error) {
	o, err := l.reader.MemoryOverview(ctx, l.scope)
	if err != nil {
		return "", err
	}
	switch {
	case o.Count == 0:
		return "Nothing is remembered of this person yet.", nil
	case o.Count == 1:
		return fmt.Sprintf("There is 1 memory of this person, in the namespace %s.", o.Namespaces[0]), nil
	}
	text := fmt.Sprintf("There are %d memories of this person, in the namespaces %s.", o.Count, strings.Join(o.Namespaces, ", "))
	if namespace != "" {
		text += fmt.Sprintf(" Only %s was looked at.", namespace)
	}
	return text, nil
}

func (l memoryLook) day(ms int64) string { return time.UnixMilli(ms).In(l.zone).Format("2006-01-02") }
