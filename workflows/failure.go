package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

	"picobot/internal/flow"
)

func isType(err error, want string) bool {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && app.Type() == want
}

// isEnded: the fence refused, somebody else has ended the turn.
func isEnded(err error) bool { return isType(err, flow.ErrTypeEnded) }

// isCancelled: the activity found that a cancel had been asked for.
func isCancelled(err error) bool { return isType(err, flow.ErrTypeCancelled) }

// isModelFailure: this model failed for good, another may do better.
func isModelFailure(err error) bool { return isType(err, flow.ErrTypeModel) }

// isInfrastructure: workers stopped or died, or the record did not answer, more
// often than the attempts of one activity allow.
func isInfrastructure(err error) bool {
	_, timeout := errors.AsType[*temporal.TimeoutError](err)
	return timeout || isType(err, flow.ErrTypeShutdown) || isType(err, flow.ErrTypeLost) || isType(err, flow.ErrTypeRecord)
}

// modelsFailed is why nobody answered a step: every model failed, in this order.
type modelsFailed []flow.Failure

func (f modelsFailed) Error() string {
	text := "no model answered"
	for i, one := range f {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		text += fmt.Sprintf("%s%s (%s)", sep, one.Model, one.Code)
	}
	return text
}

// last says, for people who watch, who failed last.
func (f modelsFailed) last() string {
	if len(f) == 0 {
		return ""
	}
	one := f[len(f)-1]
	return fmt.Sprintf(" (%s failed: %s)", one.Model, one.Code)
}

// failuresOf reads what there is to say of an error that ends a turn.
func failuresOf(err error) []flow.Failure {
	if all, ok := errors.AsType[modelsFailed](err); ok && len(all) > 0 {
		return all
	}
	return []flow.Failure{failureOf(err)}
}

// failureOf reads what an activity says of its failure.
func failureOf(err error) flow.Failure {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || !app.HasDetails() {
		return flow.Failure{Code: flow.CodeInternal}
	}
	var f flow.Failure
	if app.Details(&f) != nil || f.Code == "" {
		return flow.Failure{Code: flow.CodeInternal}
	}
	return f
}
