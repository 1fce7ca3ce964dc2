package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/google/jsonschema-go/jsonschema"

	"picobot/internal/schema"
)

// Effect says what a call may change, which decides how it is retried.
type Effect string

// The three classes of the record's tool_runs.effect.
const (
	ReadOnly Effect = "read_only" // may simply run again
	Record   Effect = "record"    // changes the record only: effect and result are one transaction
	Outside  Effect = "outside"   // acts on the world: at most once
)

// Why a call's context ended, as its cause (context.WithCancelCause). A tool that
// is stopped by one of them leaves a known result that says so.
var (
	ErrCancelled = errors.New("stopped by the user")
	ErrShutdown  = errors.New("stopped by shutdown")
)

// Call is who asks, and in whose name.
type Call struct {
	// ID names this call among all calls ever made (the id of its tool_runs row).
	// What the call starts is marked with it, see proc.KillMarked. It may be empty.
	ID        string
	TurnID    string
	SessionID string
	Channel   string
	ChatID    string
	SenderID  string
	// Tx is the open transaction of a Record tool's call, nil for all others.
	// Only the tool and its caller know what it is; see NewRecord.
	Tx any
	// Progress is told lines of output while the tool runs. It may be nil, must
	// not block, and is called from one goroutine at a time.
	Progress func(line string)
}

// Result is what the model is told.
type Result struct {
	Content string // never empty, valid UTF-8, cut to the registry's limit
	Failed  bool   // Content starts with "Error: "
	// Err is why it failed, nil when it did not: for callers that tell errors apart.
	Err error
}

// Spec describes a tool whose arguments are A: a struct whose json tags name the
// arguments (omitempty makes one optional) and whose jsonschema tags describe them.
type Spec[A any] struct {
	Name        string
	Description string
	Effect      Effect
	// EffectOf is for tools whose class depends on the arguments; nil = Effect.
	EffectOf func(A) Effect
	// Summary is the line people see after the tool's name; nil = the arguments as JSON.
	Summary func(A) string
	// Refine adds to the generated schema what Go types cannot say (enums, bounds).
	Refine func(*jsonschema.Schema)
}

// Tool is a tool ready to be registered. Make one with New or NewRecord.
type Tool struct {
	name        string
	description string
	effect      Effect
	arguments   arguments
	parameters  json.RawMessage
	effectOf    func(object map[string]json.RawMessage) (Effect, error)
	summary     func(object map[string]json.RawMessage) (string, error)
	run         func(ctx context.Context, c Call, object map[string]json.RawMessage) (string, error)
}

var toolName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// Name returns the name the model calls the tool by.
func (t Tool) Name() string { return t.name }

// New makes a tool. run returns what the model reads; when it also returns an
// error, the content follows the error's text. New panics when A has no schema
// or the spec is incomplete, which is a mistake in the program.
func New[A any](spec Spec[A], run func(ctx context.Context, c Call, args A) (string, error)) Tool {
	if !toolName.MatchString(spec.Name) {
		panic(fmt.Sprintf("tools: %q is no name for a tool", spec.Name))
	}
	if spec.Description == "" {
		panic("tools: " + spec.Name + " has no description")
	}
	if spec.Effect != ReadOnly && spec.Effect != Record && spec.Effect != Outside {
		panic(fmt.Sprintf("tools: %s has the unknown effect %q", spec.Name, spec.Effect))
	}
	schema, parameters := schemaOf(spec)
	arguments, err := newArguments(spec.Name, schema)
	if err != nil {
		panic(fmt.Sprintf("tools: schema of %s: %v", spec.Name, err))
	}
	return Tool{
		name:        spec.Name,
		description: spec.Description,
		effect:      spec.Effect,
		arguments:   arguments,
		parameters:  parameters,
		effectOf: func(object map[string]json.RawMessage) (Effect, error) {
			if spec.EffectOf == nil {
				return spec.Effect, nil
			}
			args, err := decode[A](object)
			if err != nil {
				return ReadOnly, err
			}
			return spec.EffectOf(args), nil
		},
		summary: func(object map[string]json.RawMessage) (string, error) {
			if spec.Summary == nil {
				text, err := json.Marshal(object)
				return string(text), err
			}
			args, err := decode[A](object)
			if err != nil {
				return "", err
			}
			return spec.Summary(args), nil
		},
		run: func(ctx context.Context, c Call, object map[string]json.RawMessage) (string, error) {
			args, err := decode[A](object)
			if err != nil {
				return "", err
			}
			return run(ctx, c, args)
		},
	}
}

// NewRecord makes a tool of class Record. T is the store's transaction; apply
// writes through it, and whoever called commits it together with the result, or
// rolls it back when the result is a failure.
func NewRecord[T, A any](spec Spec[A], apply func(ctx context.Context, tx T, c Call, args A) (string, error)) Tool {
	spec.Effect = Record
	return New(spec, func(ctx context.Context, c Call, args A) (string, error) {
		tx, ok := c.Tx.(T)
		if !ok {
			return "", fmt.Errorf("%s was called without a transaction: this is a fault of PicoBot, report it", spec.Name)
		}
		return apply(ctx, tx, c, args)
	})
}

func schemaOf[A any](spec Spec[A]) (*jsonschema.Schema, json.RawMessage) {
	s, err := schema.Of[A]()
	if err != nil {
		panic(fmt.Sprintf("tools: schema of %s: %v", spec.Name, err))
	}
	if s.Type != "object" {
		panic("tools: the arguments of " + spec.Name + " are no struct")
	}
	if s.Properties == nil { // some providers refuse an object schema without it
		s.Properties = map[string]*jsonschema.Schema{}
	}
	if spec.Refine != nil {
		spec.Refine(s)
	}
	parameters, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("tools: schema of %s: %v", spec.Name, err))
	}
	return s, parameters
}

func decode[A any](object map[string]json.RawMessage) (A, error) {
	var args A
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, &args)
	}
	if err != nil {
		return args, fmt.Errorf("cannot read the arguments: %w", err)
	}
	return args, nil
}
