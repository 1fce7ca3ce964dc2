package app

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"picobot/gateway/scheduler"
	"picobot/internal/config"
	"picobot/internal/schedule"
	"picobot/internal/text"
	"picobot/store"
)

// takeJobs takes the jobs of the configuration and the built in ones over into the
// record. What is wrong with a job keeps none of the others from running.
func takeJobs(ctx context.Context, o Options, record *store.Store) error {
	taken, err := record.Jobs(ctx)
	if err != nil {
		return err
	}
	before := map[string]time.Time{}
	for _, j := range taken {
		if j.Source == store.JobConfig {
			before[j.ID] = time.UnixMilli(j.AnchoredAt)
		}
	}
	// A time that has passed is no mistake in a job that was taken over before it had.
	good, wrong := o.Config.JobsSince(o.Now(), before)
	var jobs []store.PutJob
	for _, j := range good {
		jobs = append(jobs, store.PutJob{Job: j.Job, Text: j.Text + "\n" + o.Config.Scheduler.MisfirePolicy + "\n" + j.Schedule.TimeZone})
	}
	for _, p := range wrong {
		o.Log.Warn("a job of the configuration is not as it should be", "path", p.Path, "problem", p.Message)
		o.Say(o.words().Say(text.JobIsWrong{Detail: p.String()}))
	}
	if err := record.ReplaceOwned(ctx, store.JobConfig, jobs); err != nil {
		return fmt.Errorf("take over the jobs of the configuration: %w", err)
	}
	return record.ReplaceOwned(ctx, store.JobBuiltin, builtin(o.Config))
}

func builtin(cfg config.Config) []store.PutJob {
	if !cfg.Memory.MaintenanceEnabled {
		return nil
	}
	return []store.PutJob{{Job: schedule.Job{
		ID: config.MaintenanceJob, Kind: schedule.InternalEvent, Enabled: true,
		Schedule: schedule.Spec{Type: schedule.CronType, Expression: "0 */4 * * *", TimeZone: cfg.ZoneName()},
		Payload:  schedule.Payload{Event: schedule.MemoryMaintenance},
	}}}
}

// scheduled is what jobs are measured by, for the record.
func scheduled(o Options) store.Scheduler {
	return store.Scheduler{
		MisfirePolicy:       o.Config.Scheduler.MisfirePolicy,
		MisfireGraceSeconds: o.Config.Scheduler.MisfireGraceSeconds,
		Texts:               o.words(),
	}
}

// jobsChanged passes news of jobs on, once there is somebody to hear them.
type jobsChanged struct {
	to atomic.Pointer[scheduler.Reconciler]
}

func (c *jobsChanged) tell() {
	if r := c.to.Load(); r != nil {
		r.Wake()
	}
}

// lag is how late the job is that waits longest, for /health.
func lag(cfg config.Config, record *store.Store) func(context.Context) time.Duration {
	return func(ctx context.Context) time.Duration {
		if !cfg.Scheduler.Enabled {
			return 0
		}
		late, err := record.ScheduleLag(ctx)
		if err != nil {
			return 0 // /health says itself that the record cannot be read
		}
		return late
	}
}
