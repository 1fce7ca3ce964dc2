package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a bare machine has no zone files

	"picobot/internal/nearest"
)

const (
	day  = 24 * 60 * 60 // in seconds
	year = 366 * day
)

// validator checks a completed configuration: ranges, words, addresses, references.
type validator struct {
	cfg        *Config
	problems   *problems
	unset      string // path of a choice that is missing, "" when none is
	unresolved string // what to do about it
}

func (v validator) all() {
	v.general()
	v.providers()
	v.models()
	v.agents()
	v.gateway()
	v.temporal()
	v.work()
	v.session()
	v.feishu()
	v.skillsAndTools()
	v.scheduler()
}

func (v validator) general() {
	v.oneOf("locale", v.cfg.Locale, LocaleEnglish, LocaleChinese)
	if _, err := v.cfg.Location(); err != nil {
		v.problems.check("time_zone", "%s", err)
	}
}

func (v validator) work() {
	v.between("worker.max_model_calls", v.cfg.Worker.MaxModelCalls, 1, 100_000)
	v.between("worker.max_tool_calls", v.cfg.Worker.MaxToolCalls, 1, 10_000)
	v.between("worker.max_deliveries", v.cfg.Worker.MaxDeliveries, 1, 10_000)
}

func (v validator) session() {
	s := v.cfg.Session
	v.between("session.ttl_hours", s.TTLHours, 0, 10*year/3600)
	v.oneOf("session.on_expiry", s.OnExpiry, ExpiryKeep, ExpiryNewDialog)
	v.between("session.retention_days", s.RetentionDays, 0, 36_500)
	v.between("session.cleanup_interval_minutes", s.CleanupIntervalMinutes, 1, 7*24*60)
	v.between("session.auto_title_after_n_messages", s.AutoTitleAfterNMessages, 0, 1_000_000)
	v.between("session.compaction_keep_turns", s.CompactionKeepTurns, 1, 10_000)
	if !(s.CompactionThreshold > 0 && s.CompactionThreshold <= 1) {
		v.problems.check("session.compaction_threshold", "must be above 0 and at most 1: a share of the context window")
	}
	const retries = 20
	if len(s.StorageRetryDelaysMS) > retries {
		v.problems.check("session.storage_retry_delays_ms", "must list at most %d delays", retries)
		return
	}
	for i, ms := range s.StorageRetryDelaysMS {
		v.between(fmt.Sprintf("session.storage_retry_delays_ms[%d]", i), ms, 0, 60_000)
	}
}

func (v validator) skillsAndTools() {
	for i, s := range v.cfg.Skills.Sources {
		at := fmt.Sprintf("skills.sources[%d]", i)
		v.oneOf(at, s, SkillsUser, SkillsUserAgent, SkillsProject, SkillsProjectAgent)
		if slices.Contains(v.cfg.Skills.Sources[:i], s) {
			v.problems.check(at, "this source stands here twice; keep one")
		}
	}
	v.between("skills.max_index_chars", v.cfg.Skills.MaxIndexChars, 0, 1_000_000)
	v.between("skills.max_listed_skills", v.cfg.Skills.MaxListedSkills, 0, 10_000)

	t := v.cfg.Tools
	for i, name := range t.Disabled {
		if !slices.Contains(toolNames(), name) {
			v.problems.check(fmt.Sprintf("tools.disabled[%d]", i), "there is no tool %s; %s", quote(name), suggest(name, toolNames()))
		}
	}
	v.between("tools.max_result_chars", t.MaxResultChars, 1, 10_000_000)
	v.between("tools.bash.timeout_seconds", t.Bash.TimeoutSeconds, 1, 7*day)
	v.between("tools.bash.max_timeout_seconds", t.Bash.MaxTimeoutSeconds, 1, 7*day)
	if t.Bash.TimeoutSeconds > t.Bash.MaxTimeoutSeconds {
		v.problems.check("tools.bash.timeout_seconds", "must not be above tools.bash.max_timeout_seconds (%d)", t.Bash.MaxTimeoutSeconds)
	}
	for i, name := range t.Bash.EnvAllow {
		if !variableName(name) {
			v.problems.check(fmt.Sprintf("tools.bash.env_allow[%d]", i), "must be the name of one environment variable")
		}
	}
	v.between("tools.http.timeout_seconds", t.HTTP.TimeoutSeconds, 1, 3600)
	v.between("tools.http.max_bytes", t.HTTP.MaxBytes, 1, 1<<30)
}

func (v validator) scheduler() {
	s := v.cfg.Scheduler
	v.oneOf("scheduler.misfire_policy", s.MisfirePolicy, MisfireSkip, MisfireRunOnce, MisfireRunAll)
	v.between("scheduler.misfire_grace_seconds", s.MisfireGraceSeconds, 0, year)
	v.between("scheduler.run_timeout_seconds", s.RunTimeoutSeconds, 1, 7*day)
	v.between("scheduler.tick_resolution_ms", s.TickResolutionMS, 1, 3_600_000)
}

// Location returns the zone that schedules and get_time use by default.
func (c Config) Location() (*time.Location, error) {
	if c.TimeZone == "" {
		return nil, fmt.Errorf(`must be an IANA name such as "Asia/Shanghai", or "Local"`)
	}
	loc, err := time.LoadLocation(c.TimeZone)
	if err != nil {
		return nil, fmt.Errorf(`there is no time zone %s; use an IANA name such as "Asia/Shanghai", or "Local"`, quote(c.TimeZone))
	}
	return loc, nil
}

func (v validator) between(path string, n, low, high int) {
	if n < low || n > high {
		v.problems.check(path, "must be from %d to %d, not %d", low, high, n)
	}
}

func (v validator) oneOf(path, word string, words ...string) {
	if slices.Contains(words, word) {
		return
	}
	if near := nearest.Of(word, words); near != "" {
		v.problems.check(path, "%s is none of %s; did you mean %s?", quote(word), quoteAll(words), quote(near))
		return
	}
	v.problems.check(path, "must be one of %s, not %s", quoteAll(words), quote(word))
}

func (v validator) name(path, s string) {
	switch {
	case strings.TrimSpace(s) == "":
		v.problems.check(path, "must not be empty")
	case len(s) > 200 || strings.ContainsFunc(s, unprintable):
		v.problems.check(path, "must be at most 200 bytes of visible text")
	}
}
