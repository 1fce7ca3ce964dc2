package schema

import "github.com/google/jsonschema-go/jsonschema"

// Of returns the schema of T: json tags name the properties (omitempty makes one
// optional), jsonschema tags describe them.
//
// The ["null", "array"] that slices and pointers become is undone: an empty list is
// [], a missing value is left out, and some providers refuse lists of types.
func Of[T any]() (*jsonschema.Schema, error) {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, err
	}
	withoutNull(s)
	return s, nil
}

func withoutNull(s *jsonschema.Schema) {
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, p := range s.Properties {
		withoutNull(p)
	}
	if s.Items != nil {
		withoutNull(s.Items)
	}
}
