package app

import (
	"fmt"
	"net/url"

	"picobot/internal/flow"
)

// workflowOf says where a person can watch the work of a session: its page in the web
// UI, or the id to look for where the UI is somebody else's.
func (t *temporal) workflowOf(namespace string) func(sessionID string) string {
	return func(sessionID string) string {
		id := flow.SessionWorkflowID(sessionID)
		if t.ui == "" {
			return id
		}
		query := url.QueryEscape(fmt.Sprintf("`WorkflowId`=%q", id))
		return fmt.Sprintf("%s/namespaces/%s/workflows?query=%s", t.ui, url.PathEscape(namespace), query)
	}
}
