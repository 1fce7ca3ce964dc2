package schedule

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
)

func (p *parser) job(o object) Job {
	j := Job{
		ID:                  o.text("id", maxID),
		Kind:                Kind(o.oneOf("kind", string(OutboundMessage), string(AgentTask), string(SilentAgentTask), string(InternalEvent))),
		MisfirePolicy:       o.oneOf("misfire_policy", Skip, RunOnce, RunAll),
		MisfireGraceSeconds: o.count("misfire_grace_seconds", maxSeconds),
		Enabled:             o.flag("enabled", true),
	}
	if !o.has("id") {
		j.ID = p.rules.ID
	}
	if why := BadID(j.ID); why != "" && !p.noted(o.at("id")) {
		p.add(o.at("id"), "%s", why)
	}
	if j.Kind == "" && !p.noted(o.at("kind")) {
		p.add(o.at("kind"), `is missing; write "outbound_message", "agent_task", "silent_agent_task" or "internal_event"`)
	}
	j.Schedule = p.spec(o)
	p.shownOnly(o, j)
	j.Target = p.target(o, j.Kind)
	j.Payload = p.payload(o, j.Kind)
	return j
}

// shownOnly refuses what is put where a job is only shown and says something else than
// the job itself.
func (p *parser) shownOnly(o object, j Job) {
	if zone := o.name("time_zone"); zone != "" && zone != j.Schedule.TimeZone && j.Schedule.Type != "" {
		p.add(o.at("time_zone"), "has no effect here and is not the zone of the schedule; write it as schedule.time_zone")
	}
	if o.name("state") == "paused" && !o.has("enabled") {
		p.add(o.at("state"), `has no effect here; write "enabled": false`)
	}
}

// BadID says what is wrong with a job's id, "" when nothing is.
func BadID(id string) string {
	const good = `; write letters, digits and . _ - : @, such as "agent.daily_summary"`
	switch {
	case id == "":
		return "is missing" + good
	case len(id) > maxID:
		return "is too long" + good
	}
	for i, r := range id {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || (i > 0 && strings.ContainsRune("._-:@", r)) {
			continue
		}
		return clip(id) + " is no id" + good
	}
	return ""
}

func (p *parser) spec(job object) Spec {
	o := job.object("schedule", "type", "seconds", "time", "expression", "time_zone")
	if !job.has("schedule") {
		p.add(o.path, `is missing; write for example {"type": "cron", "expression": "30 18 * * *"} or {"type": "delay", "seconds": 600}`)
		return Spec{}
	}
	s := Spec{Type: o.oneOf("type", Delay, Interval, At, CronType), TimeZone: o.name("time_zone")}
	if s.Type == "" {
		if !p.noted(o.at("type")) && !p.noted(o.path) {
			p.add(o.at("type"), `is missing; write "delay", "interval", "at" or "cron"`)
		}
		return s
	}
	before := len(p.problems)
	s.TimeZone = p.zone(o, s.TimeZone)
	own := map[string]string{Delay: "seconds", Interval: "seconds", At: "time", CronType: "expression"}[s.Type]
	for _, key := range []string{"seconds", "time", "expression"} {
		if key != own && o.has(key) && !emptyValue(o.members[key]) {
			p.add(o.at(key), "means nothing for the type %q; leave it out, or change the type", s.Type)
		}
	}
	switch s.Type {
	case Delay, Interval:
		if s.Seconds = o.count(own, maxSeconds); s.Seconds == 0 && len(p.problems) == before {
			p.add(o.at(own), "must be a whole number of seconds, at least 1, such as 600")
		}
	case At:
		if s.Time = o.text(own, maxName); s.Time == "" && len(p.problems) == before {
			p.add(o.at(own), `is missing; write "2027-01-31T18:30:00+08:00", or "2027-01-31 18:30" in the job's time_zone`)
		}
	case CronType:
		if s.Expression = o.text(own, maxName); s.Expression == "" && len(p.problems) == before {
			p.add(o.at(own), "is missing; write %s", goodCron)
		}
	}
	if len(p.problems) == before {
		p.due(o.at(own), s)
	}
	return s
}

// due refuses what will never be due.
func (p *parser) due(path string, s Spec) {
	plan, err := NewPlan(s, p.rules.Zone, p.rules.Now)
	if err != nil {
		p.add(path, "%s", err)
		return
	}
	if _, ok := plan.Next(p.rules.Now); ok {
		return
	}
	switch {
	case s.Type == At && !plan.at.After(p.rules.Now):
		p.add(path, "%s is in the past: it is %s now; write a later time", plan.at.In(plan.loc).Format(time.RFC3339), p.rules.Now.In(plan.loc).Format(time.RFC3339))
	case s.Type == CronType:
		p.add(path, `%s never comes: there is no such date; write %s`, clip(s.Expression), goodCron)
	default:
		p.add(path, "lies after the year 2099; write less")
	}
}

func (p *parser) zone(o object, name string) string {
	if name == "" {
		return p.rules.Zone
	}
	if name != "Local" {
		if _, err := time.LoadLocation(name); err == nil {
			return name
		}
	} else if p.rules.Zone != "" {
		return p.rules.Zone
	}
	p.add(o.at("time_zone"), `there is no time zone %s; write an IANA name such as "Asia/Shanghai"`, clip(name))
	return p.rules.Zone
}

func (p *parser) target(job object, kind Kind) Target {
	o := job.object("target", "channel", "chat_id", "session_chat_id")
	t := Target{Channel: o.name("channel"), ChatID: o.name("chat_id"), SessionChatID: o.name("session_chat_id")}
	if kind == InternalEvent || kind == "" {
		return t
	}
	switch {
	case !job.has("target") && p.rules.Target != nil:
		return *p.rules.Target
	case !job.has("target"):
		p.add(o.path, `is missing; write {"channel": "cli", "chat_id": "…"}: the chat the job speaks to`)
		return t
	case t.Channel == "" && !p.noted(o.at("channel")):
		p.add(o.at("channel"), "is missing; %s", suggest("", p.rules.Channels))
	case len(p.rules.Channels) > 0 && !slices.Contains(p.rules.Channels, t.Channel):
		p.add(o.at("channel"), "there is no channel %s; %s", clip(t.Channel), suggest(t.Channel, p.rules.Channels))
	}
	if t.ChatID == "" && !p.noted(o.at("chat_id")) {
		p.add(o.at("chat_id"), "is missing; write the id of the chat the job speaks to")
	}
	return t
}

func (p *parser) payload(job object, kind Kind) Payload {
	o := job.object("payload", "event", "content", "prompt", "agent", "fresh_session", "system_prompt", "sender_id", "metadata", "max_tool_iterations", "timeout_seconds")
	pay := Payload{
		Event:             o.oneOf("event", MemoryMaintenance, SessionCleanup),
		Content:           o.text("content", maxText),
		Prompt:            o.text("prompt", maxText),
		Agent:             o.name("agent"),
		FreshSession:      o.flag("fresh_session", false),
		SystemPrompt:      o.text("system_prompt", maxText),
		SenderID:          o.name("sender_id"),
		Metadata:          p.metadata(o),
		MaxToolIterations: o.count("max_tool_iterations", maxIterations),
		TimeoutSeconds:    o.count("timeout_seconds", maxTimeout),
	}
	if pay.Agent != "" && len(p.rules.Agents) > 0 && !slices.Contains(p.rules.Agents, pay.Agent) {
		p.add(o.at("agent"), "there is no agent %s; %s", clip(pay.Agent), suggest(pay.Agent, p.rules.Agents))
	}
	own := []string{"timeout_seconds", "metadata"}
	var needs string
	switch kind {
	case InternalEvent:
		needs = "event"
	case OutboundMessage:
		needs = "content"
		own = append(own, "sender_id") // whose job it is; those of agents have it
	case AgentTask, SilentAgentTask:
		needs = "prompt"
		own = append(own, "agent", "fresh_session", "system_prompt", "sender_id", "max_tool_iterations")
	default:
		return pay
	}
	own = append(own, needs)
	for _, key := range slices.Sorted(maps.Keys(o.members)) {
		if !slices.Contains(own, key) && !emptyValue(o.members[key]) && key != "agent" {
			p.add(o.at(key), "means nothing for the kind %q; leave it out, or change the kind", kind)
		}
	}
	if emptyValue(o.members[needs]) {
		good := map[string]string{"event": `"memory_maintenance" or "session_cleanup"`, "content": "the text of the message", "prompt": "what the agent is to do"}[needs]
		p.add(o.at(needs), "is missing; write %s", good)
	}
	return pay
}

func (p *parser) metadata(o object) json.RawMessage {
	if !o.has("metadata") {
		return nil
	}
	raw := o.members["metadata"]
	var members map[string]json.RawMessage
	switch err := json.Unmarshal(raw, &members); {
	case err != nil:
		p.add(o.at("metadata"), `must be an object, such as {"ticket": "42"}`)
	case len(raw) > maxMetadata:
		p.add(o.at("metadata"), "is %d bytes long, at most %d are taken", len(raw), maxMetadata)
	case len(members) > 0:
		return raw
	}
	return nil
}

// emptyValue reports whether a value says as little as none: null, "", 0, false, {}.
func emptyValue(raw json.RawMessage) bool {
	if len(raw) == 0 {
		return true
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return false
	}
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return strings.TrimSpace(v) == ""
	case float64:
		return v == 0
	case bool:
		return !v
	case map[string]any:
		return len(v) == 0
	}
	return false
}
