package workflows_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"picobot/internal/flow"
	"picobot/workflows"
)

// Histories that earlier builds left must replay: with an external Temporal a new
// build takes over open runs. They are never recorded again; new ones are added with
// go test ./e2e -run Histories -args -record DIR.
func TestReplay_RecordedHistories(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			r := worker.NewWorkflowReplayer()
			r.RegisterWorkflowWithOptions(workflows.Session, workflow.RegisterOptions{Name: flow.SessionWorkflow})
			r.RegisterWorkflowWithOptions(workflows.Compaction, workflow.RegisterOptions{Name: flow.CompactionWorkflow})
			r.RegisterWorkflowWithOptions(workflows.Title, workflow.RegisterOptions{Name: flow.TitleWorkflow})
			r.RegisterWorkflowWithOptions(workflows.Job, workflow.RegisterOptions{Name: flow.JobWorkflow})
			require.NoError(t, r.ReplayWorkflowHistoryFromJSONFile(nil, file))
		})
	}
}
