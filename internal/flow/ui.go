package flow

import (
	"net/url"
	"strings"
	"time"
)

// UI is Temporal's web UI, where people look at runs. The zero UI is none.
type UI struct {
	URL       string // http://host:port
	Namespace string
	// Keeps is for how long runs are kept that are over; 0 = nobody here knows.
	Keeps time.Duration
	Now   func() time.Time // needed with Keeps
}

// Run returns the address of a run's page, with an empty runID that of the
// workflow's latest run. over is when its work ended (ms), 0 = it has not. It is ""
// where there is no UI, no workflow yet, or no run any more.
// The paths are those of github.com/temporalio/ui.
func (u UI) Run(workflowID, runID string, over int64) string {
	if u.URL == "" || workflowID == "" {
		return ""
	}
	if over != 0 && u.Keeps != 0 && u.Now().Sub(time.UnixMilli(over)) > u.Keeps {
		return ""
	}
	page := strings.TrimRight(u.URL, "/") + "/namespaces/" + url.PathEscape(u.Namespace) + "/workflows/" + url.PathEscape(workflowID)
	if runID != "" {
		page += "/" + url.PathEscape(runID) + "/history"
	}
	return page
}
