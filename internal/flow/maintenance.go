package flow

import "errors"

// ErrMaintenanceRuns is returned where maintenance was asked for and runs already.
var ErrMaintenanceRuns = errors.New("memory maintenance runs already")

// Activities of memory maintenance. What a model plans goes from one to the other
// through the record.
const (
	NextMaintenance   = "NextMaintenance"
	PlanMaintenance   = "PlanMaintenance"
	ApplyMaintenance  = "ApplyMaintenance"
	FailMaintenance   = "FailMaintenance"
	FinishMaintenance = "FinishMaintenance"
)

// MaintenanceInput is all the state of a maintenance workflow. Whoever starts one
// sets Scope and Again if need be.
type MaintenanceInput struct {
	Queues Queues `json:"queues"` // without a Base, those of the workflow's own queue
	// Scope is the only one to be tidied; "" = all that have changed.
	Scope string `json:"scope,omitempty"`
	// Again: somebody asks for it, so scopes whose plans were refused before are tried, too.
	Again bool `json:"again,omitempty"`

	Run   string `json:"run,omitempty"`   // id of the first run; what the record calls it
	After string `json:"after,omitempty"` // the scope that was the last
	Calls int    `json:"calls,omitempty"` // model calls so far
}

// MaintenanceNext is the next scope; "" = there is none.
type MaintenanceNext struct {
	Scope  string   `json:"scope,omitempty"`
	Rev    int64    `json:"rev,omitempty"`
	Models []string `json:"models,omitempty"` // names in the config: whom to ask, in this order
	// Disabled: memory.maintenance_enabled is false.
	Disabled bool `json:"disabled,omitempty"`
}

// MaintenancePart names a part of a scope's memories that a plan is wanted for.
type MaintenancePart struct {
	Run   string `json:"run"`
	Scope string `json:"scope"`
	Rev   int64  `json:"rev"`
	Part  int    `json:"part,omitempty"`
	Model int    `json:"model,omitempty"` // 0 = the agent's model, n = its n-th fallback
}

// MaintenancePlanned says what became of a part.
type MaintenancePlanned struct {
	Rev     int64 `json:"rev,omitempty"`     // what the memories are now; another one than was asked for = start again
	More    bool  `json:"more,omitempty"`    // there are parts behind it
	Refused bool  `json:"refused,omitempty"` // the plan was refused, which is in the record
	Asked   bool  `json:"asked,omitempty"`   // a model was asked
}

// MaintenanceScope names a scope whose plans are all there.
type MaintenanceScope struct {
	Run     string    `json:"run"`
	Scope   string    `json:"scope"`
	Rev     int64     `json:"rev"`
	Failure []Failure `json:"failure,omitempty"` // for FailMaintenance: of the models that were asked, in order
}

// MaintenanceApplied says what became of a scope's plans.
type MaintenanceApplied struct {
	Rev  int64 `json:"rev,omitempty"`  // what the memories are now, if they have changed since the plans were made
	Done bool  `json:"done,omitempty"` // carried out, or refused, which is in the record
}

// MaintenanceEnd ends a run.
type MaintenanceEnd struct {
	Run string `json:"run"`
	Why string `json:"why,omitempty"` // it was broken off
}

// MaintenanceResult sums a run up. The record has more (memory_runs).
type MaintenanceResult struct {
	Run       string `json:"run,omitempty"`
	Disabled  bool   `json:"disabled,omitempty"`
	Scopes    int    `json:"scopes,omitempty"`  // people whose memories a model was asked about
	Changed   int    `json:"changed,omitempty"` // of those: tidied
	Failed    int    `json:"failed,omitempty"`  // of those: nothing was changed
	Merged    int    `json:"merged,omitempty"`
	Deleted   int    `json:"deleted,omitempty"`
	Conflicts int    `json:"conflicts,omitempty"`
	// Error says why it failed, cut short and without contents.
	Error string `json:"error,omitempty"`
}

// ErrTypeMaintenance is the error of a run that failed for somebody; details:
// MaintenanceResult.
const ErrTypeMaintenance = "MaintenanceFailed"
