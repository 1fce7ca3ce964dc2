package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/schema"
)

func TestOf_ListsAndPointers_AreOfOneTypeAtAnyDepth(t *testing.T) {
	type inner struct {
		Names []string `json:"names"`
	}
	s, err := schema.Of[struct {
		List []inner `json:"list,omitempty" jsonschema:"some"`
		One  *int    `json:"one"`
	}]()
	require.NoError(t, err)
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.NotContains(t, string(text), "null")
	require.Equal(t, "array", s.Properties["list"].Type)
	require.Equal(t, "array", s.Properties["list"].Items.Properties["names"].Type)
	require.Equal(t, "integer", s.Properties["one"].Type)
	require.Equal(t, []string{"one"}, s.Required)
}

func TestOf_WhatHasNoSchema_IsAnError(t *testing.T) {
	_, err := schema.Of[struct{ F func() }]()
	require.Error(t, err)
}
