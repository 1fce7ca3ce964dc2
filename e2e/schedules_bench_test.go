package e2e

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"picobot/internal/schedule"
	"picobot/store"
)

var (
	benchJobs  = flag.Int("jobs", 2000, "how many jobs BenchmarkSchedules has, besides those that are due")
	benchAhead = flag.Duration("ahead", 45*time.Second, "how long before they are due its fifty jobs are made")
)

// BenchmarkSchedules_50DueInOneSecond has some two thousand jobs, hourly to daily, and
// fifty that are due at the same second. It reports how late they began, at the median
// and at the 99th percentile, and how long it took until Temporal had all schedules,
// which nobody waits for.
func BenchmarkSchedules_50DueInOneSecond(b *testing.B) {
	s := newStack(b)
	for i := range *benchJobs {
		j := message(fmt.Sprintf("many.%d", i), 3600+i*40)
		if i%2 == 0 {
			j.Schedule = schedule.Spec{Type: schedule.CronType, Expression: fmt.Sprintf("%d */%d * * *", i%60, 1+i%23), TimeZone: "Asia/Shanghai"}
		}
		s.put(j)
	}
	begin := time.Now()
	s.eventually(5*time.Minute, "temporal has all schedules", func() bool {
		time.Sleep(200 * time.Millisecond)
		return len(s.scheduleIDs()) >= *benchJobs
	})
	scheduled := time.Since(begin)
	var lags []time.Duration
	caughtUp := 0
	for n := 0; b.Loop(); n++ {
		at := time.Now().Add(*benchAhead).Truncate(time.Second)
		for i := range 50 {
			j := message(fmt.Sprintf("due.%d.%d", n, i), 0)
			j.Schedule = schedule.Spec{Type: schedule.At, Time: at.UTC().Format(time.RFC3339), TimeZone: "UTC"}
			s.put(j)
		}
		for i := range 50 {
			id := fmt.Sprintf("due.%d.%d", n, i)
			s.eventually(2*time.Minute, "it ran", func() bool { return s.countRuns(id, store.RunCompleted) == 1 })
			run := s.runsOf(id)[0]
			if run.Trigger != store.TriggerSchedule {
				caughtUp++
			}
			lags = append(lags, time.Duration(run.StartedAt-run.ScheduledFor)*time.Millisecond)
		}
	}
	slices.Sort(lags)
	b.ReportMetric(float64(lags[len(lags)/2].Milliseconds()), "ms-late/p50")
	b.ReportMetric(float64(lags[len(lags)*99/100].Milliseconds()), "ms-late/p99")
	b.ReportMetric(float64(scheduled.Milliseconds()), "ms-until-all-scheduled")
	b.ReportMetric(float64(caughtUp), "caught-up")
	b.ReportMetric(0, "ns/op")
}
