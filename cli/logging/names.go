package logging

import "log/slog"

// names are those under which ids are found in the log, whoever writes them: Temporal's
// SDK has a spelling of its own.
var names = map[string]string{
	"turn": "turn_id", "session": "session_id", "job": "job_id",
	"WorkflowID": "workflow_id", "RunID": "run_id", "WorkflowType": "workflow_type",
	"ActivityID": "activity_id", "ActivityType": "activity_type", "Attempt": "attempt",
	"TaskQueue": "task_queue", "WorkerID": "worker_id", "Namespace": "namespace", "Error": "error",
}

// renamed gives an attribute its name.
func renamed(groups []string, a slog.Attr) slog.Attr {
	if name, ok := names[a.Key]; ok && len(groups) == 0 {
		a.Key = name
	}
	return a
}
