package openapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemas makes the schemas of Go types, each named type once.
type schemas struct {
	components object
	types      map[string]reflect.Type // by the name of the component
}

// of returns the schema of a value's type: a reference where the type has a name.
func (s *schemas) of(v any) (object, error) {
	if l, ok := v.(List); ok {
		item, err := s.of(l.Item)
		if err != nil {
			return nil, err
		}
		return object{
			"type": "object", "required": []string{"items", "next"},
			"properties": object{
				"items": object{"type": "array", "items": item},
				"next":  object{"type": "string", "description": "where the next page begins, to be passed on as it is; empty = this is the last one"},
			},
		}, nil
	}
	t := reflect.TypeOf(v)
	name := t.Name()
	if name == "" {
		return nil, fmt.Errorf("the type %s has no name: give it one", t)
	}
	name = string(unicode.ToUpper(rune(name[0]))) + name[1:]
	if other, known := s.types[name]; known && other != t {
		return nil, fmt.Errorf("the types %s and %s have the same name: rename one of them", other, t)
	} else if !known {
		o, err := inferred(t)
		if err != nil {
			return nil, err
		}
		polish(o)
		s.components[name], s.types[name] = o, t
	}
	return object{"$ref": "#/components/schemas/" + name}, nil
}

// ofBody is of for what is sent to the gateway: what is left out has a default.
func (s *schemas) ofBody(v any) (object, error) {
	o, err := inferred(reflect.TypeOf(v))
	if err != nil {
		return nil, err
	}
	polish(o)
	optional(o)
	return o, nil
}

func optional(o object) {
	delete(o, "required")
	properties, _ := o["properties"].(object)
	for _, p := range properties {
		if property, ok := p.(object); ok {
			optional(property)
		}
	}
}

func inferred(t reflect.Type) (object, error) {
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {}, // anything
	}})
	var text []byte
	if err == nil {
		text, err = json.Marshal(schema)
	}
	var o object
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", t, err)
	}
	return o, nil
}

// polish makes an inferred schema one of the outside: keys may be added in later
// versions, lists are never null, and numbers say what they count.
func polish(o object) {
	if o["additionalProperties"] == false || isNothing(o["additionalProperties"]) {
		delete(o, "additionalProperties")
	}
	if types, ok := o["type"].([]any); ok && len(types) == 2 && types[0] == "null" && types[1] == "array" {
		o["type"] = "array"
	}
	properties, _ := o["properties"].(object)
	for name, p := range properties {
		if property, ok := p.(object); ok {
			polish(property)
			if unit := unitOf(name); unit != "" && property["type"] == "integer" && property["description"] == nil {
				property["description"] = unit
			}
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := o[key].(object); ok {
			polish(inner)
		}
	}
}

// isNothing reports whether a schema is {"not": {}}, how "false" is written.
func isNothing(schema any) bool {
	o, ok := schema.(object)
	not, nothing := o["not"].(object)
	return ok && len(o) == 1 && nothing && len(not) == 0
}

func unitOf(name string) string {
	switch {
	case strings.HasSuffix(name, "_at") || name == "scheduled_for":
		return "milliseconds since 1970-01-01T00:00:00Z"
	case strings.HasSuffix(name, "_ms"):
		return "milliseconds"
	case strings.HasSuffix(name, "_seconds"):
		return "seconds"
	}
	return ""
}
