package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"picobot/internal/flow"
)

// heartbeatTimeout is how long a worker may be silent before its work is given
// to another. Activities beat from a timer, far more often.
const heartbeatTimeout = 30 * time.Second

// beginOptions: claims are retried until the record answers. Local activities
// run inside the workflow task: no hop.
var beginOptions = workflow.LocalActivityOptions{
	ScheduleToCloseTimeout: 24 * time.Hour,
	StartToCloseTimeout:    30 * time.Second,
	RetryPolicy:            &untilAnswered,
}

var untilAnswered = temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second}

// modelOptions: Temporal is the only one who retries a model call; the activity
// says which errors are worth it and how long the endpoint asked to wait.
func modelOptions(q flow.Queues) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:           q.Turns(),
		StartToCloseTimeout: 2 * time.Hour,
		HeartbeatTimeout:    heartbeatTimeout,
		WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    time.Second,
			BackoffCoefficient: 2,
			MaximumInterval:    30 * time.Second,
			MaximumAttempts:    5,
		},
	}
}

// toolOptions: an attempt that failed is made again without end, because the
// activity itself knows from the record what it may still do.
func toolOptions(q flow.Queues) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:           q.Tools(),
		StartToCloseTimeout: 3 * time.Hour,
		HeartbeatTimeout:    heartbeatTimeout,
		WaitForCancellation: true,
		RetryPolicy:         &untilAnswered,
	}
}

// recordOptions: activities that only write the record.
func recordOptions(q flow.Queues) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:           q.Deliveries(),
		StartToCloseTimeout: time.Minute,
		RetryPolicy:         &untilAnswered,
	}
}

// cleanupOptions: the activity runs on the queue of its workflow, where no tool can
// keep it waiting. What it could not do is done the next time.
var cleanupOptions = workflow.ActivityOptions{
	StartToCloseTimeout: 6 * time.Hour,
	HeartbeatTimeout:    heartbeatTimeout,
	WaitForCancellation: true,
	RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 4, MaximumInterval: time.Minute, MaximumAttempts: 5},
	Summary:             "erase what is kept no longer",
}

// deliveryOptions: a message is tried again until it is sent, refused for good, or
// so old that a channel's idempotency key no longer protects it.
func deliveryOptions(q flow.Queues) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:              q.Deliveries(),
		ScheduleToCloseTimeout: 50 * time.Minute,
		StartToCloseTimeout:    2 * time.Minute,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute},
	}
}

// prepareAttempts is how often what belongs to a message is asked for.
const prepareAttempts = 5

// prepareOptions: files take time, but a person waits.
func prepareOptions(q flow.Queues) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:           q.Tools(),
		StartToCloseTimeout: 2 * time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second, MaximumAttempts: prepareAttempts},
	}
}
