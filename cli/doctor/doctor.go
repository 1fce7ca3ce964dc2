package doctor

import (
	"context"
	"fmt"
	"time"

	"picobot/cli/app"
	"picobot/internal/llm/catalog"
)

// Status says how something is.
type Status string

// What a finding may say. A fail keeps something from working.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Finding is one thing that was looked at.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"` // what to do; "" = nothing
}

// Options say what to look at.
type Options struct {
	app.Options
	Models *catalog.Catalog
}

// patience bounds one check.
const patience = 30 * time.Second

// examination is one visit.
type examination struct {
	Options
	report  func(Finding)
	gateway *health // of the gateway that owns the home; nil = none runs
}

// Examine looks at everything and reports each finding as soon as it is there.
func Examine(ctx context.Context, o Options, report func(Finding)) {
	e := &examination{Options: o, report: report}
	for _, check := range []func(context.Context){
		e.config, e.home, e.runningGateway, e.store, e.temporal, e.models, e.channels, e.workspace, e.bash, e.skills, e.disk,
	} {
		limited, cancel := context.WithTimeout(ctx, patience)
		check(limited)
		cancel()
	}
}

func (e *examination) ok(check, format string, args ...any) {
	e.report(Finding{Check: check, Status: OK, Detail: fmt.Sprintf(format, args...)})
}

func (e *examination) warn(check, fix, format string, args ...any) {
	e.report(Finding{Check: check, Status: Warn, Detail: fmt.Sprintf(format, args...), Fix: fix})
}

func (e *examination) fail(check, fix, format string, args ...any) {
	e.report(Finding{Check: check, Status: Fail, Detail: fmt.Sprintf(format, args...), Fix: fix})
}
