package offline

import (
	"encoding/json"
	"math"
	"strings"
)

// Bounds of an instance: a schema may refer to itself.
const (
	maxDepth  = 32
	maxValues = 10_000
)

// builder makes one instance.
type builder struct {
	root map[string]any
	left int // values that may still be made
}

// instance returns the smallest JSON that is valid under a schema: what must be
// there, as empty as it may be. A plan with nothing in it, that is, which is what a
// model that knows nothing has to propose.
func instance(schema json.RawMessage) string {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil {
		return "{}"
	}
	b := builder{root: root, left: maxValues}
	value := b.smallest(root, 0)
	raw, err := json.Marshal(value)
	if err != nil {
		return "{}" // numbers beyond JSON
	}
	return string(raw)
}

func (b *builder) smallest(schema map[string]any, depth int) any {
	if b.left--; depth > maxDepth || b.left < 0 {
		return nil
	}
	if ref, ok := schema["$ref"].(string); ok {
		if target, ok := resolve(ref, b.root); ok {
			return b.smallest(target, depth+1)
		}
	}
	if value, ok := schema["const"]; ok {
		return value
	}
	if values, ok := schema["enum"].([]any); ok && len(values) > 0 {
		return values[0]
	}
	for _, choice := range []string{"anyOf", "oneOf", "allOf"} {
		if of, ok := schema[choice].([]any); ok && len(of) > 0 {
			if first, ok := of[0].(map[string]any); ok {
				return b.smallest(first, depth+1)
			}
		}
	}
	switch typeOf(schema) {
	case "object":
		return b.object(schema, depth)
	case "array":
		items, _ := schema["items"].(map[string]any)
		out := make([]any, 0, 1)
		for range min(whole(schema, "minItems"), 100) {
			out = append(out, b.smallest(items, depth+1))
		}
		return out
	case "string":
		return strings.Repeat("x", min(whole(schema, "minLength"), 10_000))
	case "integer", "number":
		return smallestNumber(schema)
	case "boolean":
		return false
	}
	return nil
}

// typeOf is the type of a schema: its first one, or what its other words imply.
func typeOf(schema map[string]any) string {
	switch t := schema["type"].(type) {
	case string:
		return t
	case []any:
		if len(t) > 0 {
			s, _ := t[0].(string)
			return s
		}
	}
	if _, ok := schema["properties"]; ok {
		return "object"
	}
	if _, ok := schema["items"]; ok {
		return "array"
	}
	return ""
}

func (b *builder) object(schema map[string]any, depth int) map[string]any {
	out := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, r := range required {
		name, ok := r.(string)
		if !ok {
			continue
		}
		property, _ := properties[name].(map[string]any)
		out[name] = b.smallest(property, depth+1)
	}
	return out
}

func smallestNumber(schema map[string]any) any {
	value := 0.0
	if least, ok := schema["minimum"].(float64); ok {
		value = max(value, least)
	}
	if least, ok := schema["exclusiveMinimum"].(float64); ok && value <= least {
		value = math.Floor(least) + 1
	}
	if most, ok := schema["maximum"].(float64); ok {
		value = min(value, most)
	}
	if typeOf(schema) == "integer" {
		value = math.Ceil(value)
	}
	return value
}

// whole is a count of a schema, 0 when there is none.
func whole(schema map[string]any, name string) int {
	n, _ := schema[name].(float64)
	return int(min(max(n, 0), 1<<30))
}

// resolve follows a reference inside the schema, such as #/$defs/x.
func resolve(ref string, root map[string]any) (map[string]any, bool) {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return root, ref == "#"
	}
	at := root
	for _, step := range strings.Split(path, "/") {
		next, ok := at[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)].(map[string]any)
		if !ok {
			return nil, false
		}
		at = next
	}
	return at, true
}
