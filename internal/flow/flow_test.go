package flow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/flow"
)

// Temporal refuses ids that are not visible ASCII: such a session would never run.
func TestSessionWorkflowID_IsVisibleASCIIAndDistinct(t *testing.T) {
	for session, id := range map[string]string{
		"cli:a%3Ab:01M8": "session/cli:a%3Ab:01M8",
		"cli:我:d":        "session/cli:%E6%88%91:d",
		"cli:a b\t:d":    "session/cli:a%20b%09:d",
	} {
		require.Equal(t, id, flow.SessionWorkflowID(session))
	}
}
