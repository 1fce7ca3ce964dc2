package flow

import (
	"net/url"
	"strings"
)

// UI is Temporal's web UI, where people look at runs. The zero UI is none.
type UI struct {
	URL       string // http://host:port
	Namespace string
}

// Run returns the address of a run's page, with an empty runID that of the
// workflow's latest run. It is "" where there is no UI, or no workflow yet.
// The paths are those of github.com/temporalio/ui.
func (u UI) Run(workflowID, runID string) string {
	if u.URL == "" || workflowID == "" {
		return ""
	}
	page := strings.TrimRight(u.URL, "/") + "/namespaces/" + url.PathEscape(u.Namespace) + "/workflows/" + url.PathEscape(workflowID)
	if runID != "" {
		page += "/" + url.PathEscape(runID) + "/history"
	}
	return page
}
