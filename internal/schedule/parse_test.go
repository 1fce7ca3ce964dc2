package schedule_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/schedule"
)

var rules = schedule.Rules{
	Now: time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC), Zone: "Asia/Shanghai",
	Channels: []string{"cli", "feishu"}, Agents: []string{"default", "coder"},
}

const whole = `{ "id": "agent.daily_summary", "kind": "agent_task",
  "schedule": { "type": "cron", "expression": "30 18 * * *", "time_zone": "Asia/Shanghai" },
  "target": { "channel": "feishu", "chat_id": "oc_xxx", "session_chat_id": "" },
  "payload": { "prompt": "sum up", "agent": "default", "fresh_session": true, "system_prompt": "", "sender_id": "", "metadata": {},
               "max_tool_iterations": 0, "timeout_seconds": 0 },
  "misfire_policy": "skip", "misfire_grace_seconds": 0, "enabled": true }`

func TestParse_EveryField_ComesThrough(t *testing.T) {
	j, problems := schedule.Parse([]byte(whole), "", rules)
	require.NoError(t, problems.Err())
	require.Equal(t, schedule.Job{
		ID: "agent.daily_summary", Kind: schedule.AgentTask,
		Schedule:      schedule.Spec{Type: "cron", Expression: "30 18 * * *", TimeZone: "Asia/Shanghai"},
		Target:        schedule.Target{Channel: "feishu", ChatID: "oc_xxx"},
		Payload:       schedule.Payload{Prompt: "sum up", Agent: "default", FreshSession: true},
		MisfirePolicy: "skip", Enabled: true,
	}, j)
	text, err := json.Marshal(j)
	require.NoError(t, err)
	again, problems := schedule.Parse(text, "", rules)
	require.NoError(t, problems.Err())
	require.Equal(t, j, again, "what is written is read back")
}

// What `jobs get` and the agent's own view of a job print can be edited and put back.
func TestParse_AJobAsItIsShown_CanBePutBack(t *testing.T) {
	const job = `"id":"a","kind":"outbound_message","schedule":{"type":"interval","seconds":10,"time_zone":"Asia/Tokyo"},"target":{"channel":"cli","chat_id":"me"},"payload":{"content":"hi","sender_id":"ou_1"}`
	_, problems := schedule.Parse([]byte(`{`+job+`,"misfire_policy":"skip","misfire_grace_seconds":0,"enabled":false,"time_zone":"Asia/Tokyo","state":"paused","source":"agent",
		"created_by":"cli:a:b","origin":{"channel":"cli"},"last_run_at":1,"last_status":"failed","next_run_at":2,"next_runs":[],"created_at":3,"updated_at":4}`), "", rules)
	require.NoError(t, problems.Err())
	for text, path := range map[string]string{
		`"time_zone":"Europe/Berlin"`: "time_zone", // it would have no effect
		`"state":"paused"`:            "state",
	} {
		_, problems = schedule.Parse([]byte(`{`+job+`,`+text+`}`), "", rules)
		require.Len(t, problems, 1)
		require.Equal(t, path, problems[0].Path)
	}
}

func TestParse_WhatIsLeftOut_HasDefaults(t *testing.T) {
	j, problems := schedule.Parse([]byte(`{"id":"a","kind":"outbound_message","schedule":{"type":"delay","seconds":10},"target":{"channel":"cli","chat_id":"me"},"payload":{"content":"hi"}}`), "", rules)
	require.NoError(t, problems.Err())
	require.True(t, j.Enabled)
	require.Equal(t, "Asia/Shanghai", j.Schedule.TimeZone)
	require.Equal(t, schedule.RunOnce, j.Policy("skip"), "what is due once")
	j.Schedule.Type = schedule.Interval
	require.Equal(t, schedule.RunAll, j.Policy("run_all"), "the scheduler's")
	require.Equal(t, 30*time.Second, j.Grace(0, time.Minute))
	require.Equal(t, 300*time.Second, j.Grace(0, 24*time.Hour))
	require.Equal(t, 7*time.Second, j.Grace(7, time.Minute))
	require.Equal(t, "me", j.SessionChat())
	j.Kind = schedule.SilentAgentTask
	require.Equal(t, "scheduler/a", j.SessionChat())
	j.Target.SessionChatID = "x"
	require.Equal(t, "x", j.SessionChat())
}

func TestParse_WhatIsWrong_IsNamedByItsPathWithWhatToWrite(t *testing.T) {
	job := func(old, new string) string {
		require.Contains(t, whole, old)
		return strings.Replace(whole, old, new, 1)
	}
	cron := `{ "type": "cron", "expression": "30 18 * * *", "time_zone": "Asia/Shanghai" }`
	for name, c := range map[string]struct{ text, path, message string }{
		"no object":             {`[]`, "jobs[0]", "must be a JSON object"},
		"broken":                {`{"id": "a"`, "jobs[0]", "is no valid JSON"},
		"two objects":           {whole + whole, "jobs[0]", "nothing after it"},
		"key twice":             {job(`"enabled": true`, `"enabled": true, "enabled": false`), "jobs[0].enabled", "stands here twice"},
		"unknown key":           {job(`"enabled"`, `"enabeld"`), `jobs[0]."enabeld"`, `did you mean "enabled"?`},
		"unknown key below":     {job(`"expression"`, `"expresion"`), `jobs[0].schedule."expresion"`, `did you mean "expression"?`},
		"no id":                 {job(`"id": "agent.daily_summary", `, ``), "jobs[0].id", "such as \"agent.daily_summary\""},
		"bad id":                {job(`agent.daily_summary`, `a/b`), "jobs[0].id", "is no id"},
		"dots only":             {job(`agent.daily_summary`, `..`), "jobs[0].id", "is no id"},
		"unknown kind":          {job(`"agent_task"`, `"agent_tsk"`), "jobs[0].kind", `did you mean "agent_task"?`},
		"no kind":               {job(`"kind": "agent_task",`, ``), "jobs[0].kind", "is missing"},
		"no schedule":           {job(`"schedule": `+cron+",", ``), "jobs[0].schedule", "is missing"},
		"no schedule type":      {job(`"type": "cron", `, ``), "jobs[0].schedule.type", "is missing"},
		"unknown schedule type": {job(`"cron"`, `"daily"`), "jobs[0].schedule.type", `"delay", "interval", "at", "cron"`},
		"bad cron":              {job("30 18 * * *", "61 18 * * *"), "jobs[0].schedule.expression", "61 is not from 0 to 59"},
		"six fields":            {job("30 18 * * *", "*/5 * * * * *"), "jobs[0].schedule.expression", "none for seconds"},
		"a date there is not":   {job("30 18 * * *", "0 0 30 2 *"), "jobs[0].schedule.expression", "never comes"},
		"unknown zone":          {job(`"Asia/Shanghai"`, `"Asia/Shangai"`), "jobs[0].schedule.time_zone", "such as \"Asia/Shanghai\""},
		"seconds of a cron":     {job(`"type": "cron"`, `"type": "cron", "seconds": 5`), "jobs[0].schedule.seconds", "means nothing for the type \"cron\""},
		"no seconds":            {job(cron, `{"type": "interval"}`), "jobs[0].schedule.seconds", "at least 1"},
		"seconds of zero":       {job(cron, `{"type": "delay", "seconds": 0}`), "jobs[0].schedule.seconds", "at least 1"},
		"half a second":         {job(cron, `{"type": "delay", "seconds": 0.5}`), "jobs[0].schedule.seconds", "must be a whole number"},
		"seconds as text":       {job(cron, `{"type": "delay", "seconds": "5"}`), "jobs[0].schedule.seconds", "must be a whole number"},
		"a delay of a century":  {job(cron, `{"type": "delay", "seconds": 3000000000}`), "jobs[0].schedule.seconds", "lies after the year 2099"},
		"past at":               {job(cron, `{"type": "at", "time": "2027-01-01T11:59:59Z"}`), "jobs[0].schedule.time", "is in the past: it is 2027-01-01T20:00:00+08:00 now"},
		"at this very moment":   {job(cron, `{"type": "at", "time": "2027-01-01T12:00:00Z"}`), "jobs[0].schedule.time", "is in the past"},
		"no time":               {job(cron, `{"type": "at"}`), "jobs[0].schedule.time", "is missing"},
		"bad time":              {job(cron, `{"type": "at", "time": "tomorrow"}`), "jobs[0].schedule.time", "is no time"},
		"no target":             {job(`"target": { "channel": "feishu", "chat_id": "oc_xxx", "session_chat_id": "" },`, ``), "jobs[0].target", "is missing"},
		"unknown channel":       {job(`"feishu"`, `"feshu"`), "jobs[0].target.channel", `did you mean "feishu"?`},
		"no channel":            {job(`"channel": "feishu", `, ``), "jobs[0].target.channel", `known are "cli", "feishu"`},
		"no chat":               {job(`"oc_xxx"`, `""`), "jobs[0].target.chat_id", "is missing"},
		"no prompt":             {job(`"prompt": "sum up"`, `"prompt": " "`), "jobs[0].payload.prompt", "is missing"},
		"unknown agent":         {job(`"agent": "default"`, `"agent": "codr"`), "jobs[0].payload.agent", `did you mean "coder"?`},
		"content of a task":     {job(`"prompt"`, `"content": "x", "prompt"`), "jobs[0].payload.content", `means nothing for the kind "agent_task"`},
		"metadata as text":      {job(`"metadata": {}`, `"metadata": "x"`), "jobs[0].payload.metadata", "must be an object"},
		"unknown policy":        {job(`"skip"`, `"run_onec"`), "jobs[0].misfire_policy", `did you mean "run_once"?`},
		"negative grace":        {job(`"misfire_grace_seconds": 0`, `"misfire_grace_seconds": -1`), "jobs[0].misfire_grace_seconds", "must be a whole number"},
		"enabled as text":       {job(`"enabled": true`, `"enabled": "yes"`), "jobs[0].enabled", "must be true or false"},
		"too long a prompt":     {job(`sum up`, strings.Repeat("x", 70_000)), "jobs[0].payload.prompt", "at most 65536"},
		"too large":             {job(`sum up`, strings.Repeat("x", 300_000)), "jobs[0]", "at most 262144"},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := schedule.Parse([]byte(c.text), "jobs[0]", rules)
			require.NotEmpty(t, problems)
			for _, p := range problems {
				if p.Path == c.path && strings.Contains(p.Message, c.message) {
					return
				}
			}
			t.Fatalf("no %q at %s among: %s", c.message, c.path, problems)
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(whole)
	f.Add(`{"id":"a","kind":"internal_event","schedule":{"type":"at","time":"2030-01-01 10:00"},"payload":{"event":"session_cleanup"}}`)
	f.Add(`{"id":null,"schedule":[],"target":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		j, problems := schedule.Parse([]byte(text), "", rules)
		if problems.Err() != nil {
			return
		}
		plan, err := schedule.NewPlan(j.Schedule, rules.Zone, rules.Now)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := plan.Next(rules.Now); !ok {
			t.Fatal("a job that is never due was taken")
		}
		if text, err := json.Marshal(j); err != nil {
			t.Fatal(err, text)
		}
	})
}
