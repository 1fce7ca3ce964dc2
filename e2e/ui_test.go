package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/converter"

	"picobot/internal/flow"
)

// What an operator sees in Temporal's UI: readable steps, what is going on now,
// and runs found by session and channel.
func TestTemporalUI_ShowsReadableSteps(t *testing.T) {
	s := newStack(t)
	turn := s.say("ui", "run until [ -e go ]; do sleep 0.1; done; echo done")
	var details string
	s.eventually(time.Minute, "the details name the tool", func() bool {
		v, err := s.client.QueryWorkflow(t.Context(), flow.SessionWorkflowID(turn.SessionID), "", "__temporal_workflow_metadata")
		if err != nil {
			return false
		}
		var meta sdkpb.WorkflowMetadata
		require.NoError(t, v.Get(&meta))
		details = meta.GetCurrentDetails()
		return strings.Contains(details, "bash: until [ -e go ]")
	})
	require.NoError(t, os.WriteFile(filepath.Join(s.ws.Dir(), "go"), nil, 0o600))
	s.await(turn)
	s.idle(turn.SessionID)

	var steps []string
	for _, e := range s.history(turn.SessionID, "").Events {
		if e.GetEventType() != enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED {
			continue
		}
		var summary string
		require.NoError(t, converter.GetDefaultDataConverter().FromPayload(e.GetUserMetadata().GetSummary(), &summary))
		steps = append(steps, e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName()+" | "+summary)
	}
	require.Equal(t, []string{"CallModel | step 1: offline", "RunTool | bash: until [ -e go ]; do sleep 0.1; done; echo done", "CallModel | step 2: offline"}, steps)

	for _, query := range []string{"PicobotSession = '" + turn.SessionID + "'", "PicobotChannel = 'cli'"} {
		s.eventually(time.Minute, query+" finds the run", func() bool { return s.count(query) == 1 })
	}
}
