package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"picobot/internal/chat"
	"picobot/internal/schedule"
)

// MaintenanceJob is the id of the built-in job that looks after long-term memory.
const MaintenanceJob = "builtin.memory_maintenance_daily"

// ConfiguredJob is a good job of the file.
type ConfiguredJob struct {
	schedule.Job
	Text string // its JSON, the same as long as nobody changes the job
}

// JobRules are what every job is checked against, wherever it comes from.
func (c Config) JobRules(now time.Time) schedule.Rules {
	return schedule.Rules{
		Now:      now,
		Zone:     c.ZoneName(),
		Channels: []string{chat.ChannelCLI, chat.ChannelFeishu},
		Agents:   slices.Sorted(maps.Keys(c.Agents)),
	}
}

// ZoneName is the IANA name of time_zone. It is "Local" only where the machine does
// not say which zone that is.
func (c Config) ZoneName() string {
	if c.TimeZone == "Local" && c.origin.zone != "" {
		return c.origin.zone
	}
	return c.TimeZone
}

// Jobs reads scheduler.jobs: the good ones, and what is wrong with the others. One bad
// job stops none of the others, so these are no problems of the configuration.
func (c Config) Jobs(now time.Time) (good []ConfiguredJob, wrong []Problem) {
	return c.JobsSince(now, nil)
}

// JobsSince is Jobs where some of the jobs, by id, have been taken over at an earlier
// moment: a time that has passed since is no mistake in them.
func (c Config) JobsSince(now time.Time, taken map[string]time.Time) (good []ConfiguredJob, wrong []Problem) {
	w := newProblems()
	first := map[string]int{}
	for i, raw := range c.Scheduler.Jobs {
		at := fmt.Sprintf("scheduler.jobs[%d]", i)
		rules := c.JobRules(now)
		var named struct{ ID string }
		if json.Unmarshal(raw, &named) == nil && !taken[named.ID].IsZero() {
			rules.Now = taken[named.ID]
		}
		j, problems := schedule.Parse(raw, at, rules)
		for _, p := range problems {
			w.add(p.Path, "%s", p.Message)
		}
		if len(problems) > 0 {
			continue
		}
		if j.ID == MaintenanceJob {
			w.add(at+".id", "%q is built in; choose another id, and set memory.maintenance_enabled to false to do without that one", j.ID)
			continue
		}
		if before, twice := first[j.ID]; twice {
			w.add(at+".id", "scheduler.jobs[%d] has this id too; give each job its own", before)
			continue
		}
		first[j.ID] = i
		if j.Target.Channel == chat.ChannelFeishu && !c.Channels.Feishu.Enabled {
			w.add(at+".target.channel", "channels.feishu.enabled is false, so nothing of this job gets through; enable it")
		}
		good = append(good, ConfiguredJob{Job: j, Text: compact(raw)})
	}
	return good, w.list
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
