package doctor

import (
	"context"
	"time"

	"picobot/cli/app"
	"picobot/internal/llm/catalog"
	"picobot/internal/text"
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
	Words  *text.Catalogue // what findings are said in
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

func (e *examination) say(m text.Message) string { return e.Words.Say(m) }

func (e *examination) ok(check, detail string) {
	e.report(Finding{Check: check, Status: OK, Detail: detail})
}

func (e *examination) warn(check string, fix text.Message, detail string) {
	e.report(Finding{Check: check, Status: Warn, Detail: detail, Fix: e.say(fix)})
}

func (e *examination) fail(check string, fix text.Message, detail string) {
	e.report(Finding{Check: check, Status: Fail, Detail: detail, Fix: e.say(fix)})
}
