package nearest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/nearest"
)

func TestOf_AMisspeltName_IsFoundAndAStrangeOneIsNot(t *testing.T) {
	known := []string{"enabled", "expression", "cli"}
	require.Equal(t, "enabled", nearest.Of("enabeld", known))
	require.Equal(t, "expression", nearest.Of("Expresion", known))
	require.Empty(t, nearest.Of("schedule", known))
	require.Empty(t, nearest.Of("", known))
	require.Empty(t, nearest.Of("x", nil))
}
