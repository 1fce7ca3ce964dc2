package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	maxArguments   = 1 << 20 // bytes of one call's arguments
	maxUnwrappings = 3       // JSON strings that hold JSON that …
)

// arguments checks what a model wrote against one tool's schema.
type arguments struct {
	tool     string
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
	names    []string // in the order of the struct
}

func newArguments(tool string, schema *jsonschema.Schema) (arguments, error) {
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return arguments{}, err
	}
	return arguments{tool: tool, schema: schema, resolved: resolved, names: schema.PropertyOrder}, nil
}

// parse returns the arguments by name. Its error says which one is wrong and
// what the tool takes, in words meant for the model.
func (a arguments) parse(raw string) (map[string]json.RawMessage, error) {
	object, err := unwrap(raw)
	if err == nil {
		err = a.check(object)
	}
	if err != nil {
		return nil, fmt.Errorf("%w. %s", err, a.usage())
	}
	return object, nil
}

// unwrap reads raw as one JSON object. Models write nothing at all for "no
// arguments", and some encode the object a second time as a string.
func unwrap(raw string) (map[string]json.RawMessage, error) {
	if len(raw) > maxArguments {
		return nil, fmt.Errorf("the arguments are %d bytes long, at most %d are taken: do it in smaller parts", len(raw), maxArguments)
	}
	for range maxUnwrappings {
		raw = strings.TrimSpace(raw)
		if raw == "" || raw == "null" {
			return map[string]json.RawMessage{}, nil
		}
		if raw[0] != '"' {
			break
		}
		var inner string
		if err := json.Unmarshal([]byte(raw), &inner); err != nil {
			return nil, invalidJSON(err)
		}
		raw = inner
	}
	decoder := json.NewDecoder(strings.NewReader(raw))
	var object map[string]json.RawMessage
	if err := decoder.Decode(&object); err != nil {
		var wrongType *json.UnmarshalTypeError
		if errors.As(err, &wrongType) {
			return nil, errors.New("the arguments must be one JSON object")
		}
		return nil, invalidJSON(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the arguments must be one JSON object, with nothing after it")
	}
	return object, nil
}

func invalidJSON(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the arguments are not valid JSON: they end in the middle")
	}
	return fmt.Errorf("the arguments are not valid JSON: %w", err)
}

// check reports every wrong argument at once, so that one more try is enough.
// It drops the nulls that some models write for arguments they leave out, and
// writes whole numbers as Go reads them.
func (a arguments) check(object map[string]json.RawMessage) error {
	var problems []string
	for _, name := range sortedKeys(object) {
		property, known := a.schema.Properties[name]
		switch {
		case !known:
			problems = append(problems, fmt.Sprintf("unknown argument %s%s", quote(name), didYouMean(name, a.names)))
		case string(bytes.TrimSpace(object[name])) == "null" && property.Type != "":
			delete(object, name)
		default:
			value, err := checkType(object[name], property)
			if err != nil {
				problems = append(problems, fmt.Sprintf("argument %s %s", quote(name), err))
			}
			object[name] = value
		}
	}
	for _, name := range a.schema.Required {
		if _, ok := object[name]; !ok {
			problems = append(problems, fmt.Sprintf("missing argument %s", quote(name)))
		}
	}
	if len(problems) == 0 {
		return a.validate(object)
	}
	return errors.New(strings.Join(problems, "; "))
}

// checkType compares the JSON type of a value with what its property wants.
func checkType(raw json.RawMessage, property *jsonschema.Schema) (json.RawMessage, error) {
	got := jsonType(raw)
	want := property.Type
	if want == "" || want == got || (want == "number" && got == "integer") {
		if want == "integer" {
			n, ok := new(big.Rat).SetString(string(raw))
			if !ok || !n.IsInt() || !n.Num().IsInt64() {
				return raw, errors.New("is out of range")
			}
			return json.RawMessage(n.Num().String()), nil
		}
		return raw, nil
	}
	return raw, fmt.Errorf("must be %s, not %s", article(want), article(got))
}

func jsonType(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "null"
	}
	switch raw[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	// A long exponent would make a number of millions of digits: no such integer is wanted.
	if _, exponent, ok := strings.Cut(strings.ToLower(string(raw)), "e"); ok && len(exponent) > 3 {
		return "number"
	}
	if n, ok := new(big.Rat).SetString(string(raw)); ok && n.IsInt() {
		return "integer"
	}
	return "number"
}

// validate leaves the rest (enums, bounds, nested values) to the schema.
func (a arguments) validate(object map[string]json.RawMessage) error {
	instance := make(map[string]any, len(object))
	for name, raw := range object {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return fmt.Errorf("argument %s: %w", quote(name), err)
		}
		instance[name] = v
	}
	err := a.resolved.Validate(instance)
	if err == nil {
		return nil
	}
	// The reason repeats the argument, which may be of any length, and then says what is
	// wrong with it.
	text := cutMiddle(strings.TrimPrefix(err.Error(), "validating root: "), maxReason)
	if rest, ok := strings.CutPrefix(text, "validating /properties/"); ok {
		name, reason, _ := strings.Cut(rest, ": ")
		if property := a.schema.Properties[name]; property != nil {
			if len(property.Enum) > 0 {
				return fmt.Errorf("argument %s must be one of %s", quote(name), oneOf(property.Enum))
			}
			if may := bounds(property); may != "" {
				return fmt.Errorf("argument %s must %s", quote(name), may)
			}
		}
		return fmt.Errorf("argument %s: %s", quote(name), reason)
	}
	return errors.New(text)
}

// bounds says how large an argument may be, "" where its schema does not.
func bounds(s *jsonschema.Schema) string {
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("be from %.0f to %.0f", *s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		return fmt.Sprintf("be at least %.0f", *s.Minimum)
	case s.Maximum != nil:
		return fmt.Sprintf("be at most %.0f", *s.Maximum)
	case s.MaxLength != nil:
		return fmt.Sprintf("have at most %d characters", *s.MaxLength)
	case s.MaxItems != nil:
		return fmt.Sprintf("have at most %d items", *s.MaxItems)
	}
	return ""
}

// usage lists what the tool takes.
func (a arguments) usage() string {
	if len(a.names) == 0 {
		return a.tool + " takes no arguments: {}"
	}
	parts := make([]string, len(a.names))
	for i, name := range a.names {
		property := a.schema.Properties[name]
		kind := property.Type
		if len(property.Enum) > 0 {
			kind = oneOf(property.Enum)
		}
		if !slices.Contains(a.schema.Required, name) {
			kind += ", optional"
		}
		parts[i] = fmt.Sprintf("%s (%s)", name, kind)
	}
	return fmt.Sprintf("%s takes one JSON object with: %s", a.tool, strings.Join(parts, ", "))
}

func oneOf(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, " | ")
}

func article(jsonType string) string {
	switch jsonType {
	case "integer", "object", "array":
		return "an " + jsonType
	case "null":
		return "null"
	}
	return "a " + jsonType
}
