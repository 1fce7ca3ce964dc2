package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/schedule"
	"picobot/internal/tools"
)

// keeper is a transaction with one job in it.
type keeper struct {
	place schedule.Place
	put   []schedule.Job
	acts  []string
}

func (k *keeper) Place() schedule.Place { return k.place }

func (k *keeper) ListJobs() (out []schedule.View, err error) {
	for _, j := range k.put {
		out = append(out, schedule.View{Job: j, State: "active"})
	}
	return out, nil
}

func (k *keeper) GetJob(id string) (schedule.View, error) {
	if id != "a" {
		return schedule.View{}, errors.New("this chat has no job")
	}
	return schedule.View{Job: schedule.Job{ID: id}, State: "active", NextRuns: []string{"2027-01-01T20:10:00+08:00"}}, nil
}

func (k *keeper) PutJob(j schedule.Job) (schedule.View, bool, error) {
	k.put = append(k.put, j)
	return schedule.View{Job: j, State: "active", NextRuns: []string{"2027-01-01T20:10:00+08:00"}}, true, nil
}

func (k *keeper) DeleteJob(id string) error { k.acts = append(k.acts, "delete "+id); return nil }

func (k *keeper) PauseJob(id string) (schedule.View, error) {
	k.acts = append(k.acts, "pause "+id)
	return k.GetJob(id)
}

func (k *keeper) ResumeJob(id string) (schedule.View, error) {
	k.acts = append(k.acts, "resume "+id)
	return k.GetJob(id)
}

func newKeeper() *keeper {
	return &keeper{place: schedule.Place{Target: schedule.Target{Channel: "feishu", ChatID: "oc_1"}, SenderID: "ou_1"}}
}

func manageJobs(t *testing.T, k *keeper, allow bool, arguments any) tools.Result {
	t.Helper()
	text, ok := arguments.(string)
	if !ok {
		raw, err := json.Marshal(arguments)
		require.NoError(t, err)
		text = string(raw)
	}
	r := registry(t, tools.Options{}, tools.SchedulerManage(tools.SchedulerOptions{AllowFromJobs: allow, Rules: func() schedule.Rules {
		return schedule.Rules{Now: time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC), Zone: "Asia/Shanghai", Channels: []string{"cli", "feishu"}, Agents: []string{"default"}}
	}}))
	require.Equal(t, tools.Record, r.Effect("scheduler_manage", `{"action":"list"}`))
	return r.Run(context.Background(), tools.Call{Tx: k}, "scheduler_manage", text)
}

func tea(change func(job args)) args {
	job := args{"id": "agent.tea", "kind": "outbound_message", "schedule": args{"type": "delay", "seconds": 600}, "payload": args{"content": "Tea!"}}
	if change != nil {
		change(job)
	}
	return args{"action": "put", "job": job}
}

func TestSchedulerManage_Put_ChatAndPersonAreTheTurns(t *testing.T) {
	k := newKeeper()
	got := requireOK(t, manageJobs(t, k, false, tea(nil)))
	require.Contains(t, got, "agent.tea is scheduled")
	require.Contains(t, got, "2027-01-01T20:10:00+08:00", "the time is said back")
	require.Len(t, k.put, 1)
	require.Equal(t, schedule.Target{Channel: "feishu", ChatID: "oc_1"}, k.put[0].Target)
	require.Equal(t, "ou_1", k.put[0].Payload.SenderID)
	require.Equal(t, "Asia/Shanghai", k.put[0].Schedule.TimeZone)

	requireOK(t, manageJobs(t, k, false, tea(func(j args) { j["target"] = args{"channel": "feishu", "chat_id": "oc_1"} })))
}

func TestSchedulerManage_BadJobs_AreRefusedWithWhatToWrite(t *testing.T) {
	for want, change := range map[string]func(args){
		"job.target: jobs speak to the chat you are in": func(j args) { j["target"] = args{"channel": "feishu", "chat_id": "oc_2"} },
		"job.payload.sender_id":                         func(j args) { j["payload"] = args{"content": "x", "sender_id": "ou_2"} },
		"job.kind: internal_event is for operators": func(j args) {
			j["kind"], j["payload"] = "internal_event", args{"event": "session_cleanup"}
		},
		"job.schedule.time: 2027-01-01T19:00:00+08:00 is in the past": func(j args) { j["schedule"] = args{"type": "at", "time": "2027-01-01 19:00"} },
		"none for seconds":                func(j args) { j["schedule"] = args{"type": "cron", "expression": "*/5 * * * * *"} },
		"such as \"Asia/Shanghai\"":       func(j args) { j["schedule"] = args{"type": "cron", "expression": "0 9 * * *", "time_zone": "CST+8"} },
		"job.payload.content: is missing": func(j args) { delete(j, "payload") },
		"must be a whole number":          func(j args) { j["schedule"] = args{"type": "delay", "seconds": "600"} },
		`did you mean "schedule"?`:        func(j args) { j["schedul"] = 1 },
	} {
		t.Run(want, func(t *testing.T) {
			k := newKeeper()
			requireError(t, manageJobs(t, k, false, tea(change)), want)
			require.Empty(t, k.put)
		})
	}
}

func TestSchedulerManage_Put_TwoIDs_AreRefused(t *testing.T) {
	k := newKeeper()
	call := tea(nil)
	call["id"] = "agent.coffee"
	requireError(t, manageJobs(t, k, false, call), `the job is called "agent.tea" and the call says "agent.coffee"`)
	require.Empty(t, k.put)
	call["id"] = "agent.tea"
	requireOK(t, manageJobs(t, k, false, call))
}

func TestSchedulerManage_InAScheduledRun_ChangesNothingUnlessAllowed(t *testing.T) {
	k := newKeeper()
	k.place.InJob = true
	for _, action := range []string{"put", "delete", "pause", "resume"} {
		a := tea(nil)
		a["action"], a["id"] = action, "a"
		requireError(t, manageJobs(t, k, false, a), "a scheduled run may not change jobs")
	}
	requireOK(t, manageJobs(t, k, false, args{"action": "list"}))
	require.Empty(t, k.put)
	require.Empty(t, k.acts)
	requireOK(t, manageJobs(t, k, true, tea(nil)))
}

func TestSchedulerManage_OtherActions_NeedAnID(t *testing.T) {
	k := newKeeper()
	for _, action := range []string{"get", "delete", "pause", "resume"} {
		requireError(t, manageJobs(t, k, false, args{"action": action}), "needs the id of a job")
		requireOK(t, manageJobs(t, k, false, args{"action": action, "id": "a"}))
	}
	require.Equal(t, []string{"delete a", "pause a", "resume a"}, k.acts)
	requireError(t, manageJobs(t, k, false, args{"action": "get", "id": "b"}), "no job")
	requireError(t, manageJobs(t, k, false, args{"action": "put"}), "put needs a job, such as")
	requireError(t, manageJobs(t, k, false, args{"action": "run"}), "list | get | put")
	require.Contains(t, requireOK(t, manageJobs(t, newKeeper(), false, args{"action": "list"})), "no jobs of this chat")
}
