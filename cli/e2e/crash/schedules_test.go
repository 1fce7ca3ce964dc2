package crash

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"picobot/internal/testkit/harness"
)

// scheduleRounds is how often TestKilledAroundFiringTimes kills: 50 and more in the
// long version.
func scheduleRounds() int {
	if long() {
		return max(50, *kills/2)
	}
	return max(3, *kills/4)
}

// Jobs that are due with every second or two, and kills around those seconds: each slot
// runs once or is accounted for, each message is written once, each failure of a
// silent job is told once.
func TestKilledAroundFiringTimes(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	job := func(id, kind string, seconds int, policy string, payload map[string]any) map[string]any {
		return map[string]any{"id": id, "kind": kind, "misfire_policy": policy, "payload": payload,
			"schedule": map[string]any{"type": "interval", "seconds": seconds}, "target": map[string]any{"channel": "cli", "chat_id": "me"}}
	}
	h.Configure(map[string]any{"scheduler": map[string]any{"jobs": []any{
		job("message", "outbound_message", 1, "run_all", map[string]any{"content": "tick"}),
		job("task", "agent_task", 2, "run_once", map[string]any{"prompt": "calc 6*7", "fresh_session": true}),
		job("silent", "silent_agent_task", 3, "skip", map[string]any{"prompt": "fail 401"}),
	}}})
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	begun, killed := 0, 0
	for range scheduleRounds() {
		g := h.StartGateway()
		waitNear(rng)
		if open := h.Record(`SELECT count(*) FROM job_runs WHERE status = 'running'`)[0]; open != "0" {
			begun++
		}
		g.Kill9()
		if g.Killed() {
			killed++
		}
		if bad := h.Unsound(); len(bad) > 0 {
			t.Fatalf("the record is unsound:\n%s", strings.Join(bad, "\n"))
		}
	}
	h.StartGateway()
	seconds := map[string]int64{"message": 1000, "task": 2000, "silent": 3000}
	h.Eventually("every slot up to now is accounted for and every run has ended", func() bool {
		now := time.Now().UnixMilli()
		return h.Record(`SELECT count(*) FROM scheduler_jobs WHERE source = 'config' AND next_run_at < ?`, now-2000)[0] == "0" &&
			h.Record(`SELECT count(*) FROM job_runs WHERE status = 'running' AND started_at < ?`, now-4000)[0] == "0"
	})
	for id, every := range seconds {
		gaps := h.Record(`SELECT a.scheduled_for FROM job_runs a WHERE a.job_id = ?1
			AND a.scheduled_for < (SELECT max(scheduled_for) FROM job_runs WHERE job_id = ?1)
			AND NOT EXISTS (SELECT 1 FROM job_runs b WHERE b.job_id = ?1 AND b.scheduled_for = a.scheduled_for + ?2)`, id, every)
		if len(gaps) > 0 {
			t.Errorf("%s: slots after these were missed in silence: %v", id, gaps)
		}
	}
	for what, query := range map[string]string{
		"runs of one slot":                `SELECT job_id, scheduled_for FROM job_runs GROUP BY job_id, scheduled_for HAVING count(*) > 1`,
		"turns of one run":                `SELECT external_id FROM inbound_messages WHERE external_id LIKE 'job/%' GROUP BY external_id HAVING count(*) > 1`,
		"messages of one run":             `SELECT origin FROM outbound_messages GROUP BY origin HAVING count(*) > 1`,
		"messages that no run sent":       `SELECT id FROM outbound_messages WHERE content = 'tick' AND origin NOT IN (SELECT id FROM job_runs WHERE job_id = 'message' AND status = 'completed')`,
		"runs whose message is not there": `SELECT id FROM job_runs WHERE job_id = 'message' AND status = 'completed' AND id NOT IN (SELECT origin FROM outbound_messages)`,
		"failures that were not told":     `SELECT id FROM job_runs WHERE job_id = 'silent' AND status = 'failed' AND id NOT IN (SELECT origin FROM outbound_messages)`,
		"runs that say other than the turn": `SELECT r.id FROM job_runs r JOIN turns t ON t.id = r.turn_id WHERE r.status <> 'running' AND NOT
			(r.status = 'completed' AND t.status = 'completed' OR r.status = 'failed' AND t.status IN ('failed', 'cancelled'))`,
		"answers that came twice": `SELECT turn_id FROM messages WHERE role = 'assistant' AND tool_calls IS NULL AND turn_id IS NOT NULL GROUP BY turn_id HAVING count(*) > 1`,
	} {
		if found := h.Record(query); len(found) > 0 {
			t.Errorf("%s: %v", what, found)
		}
	}
	t.Logf("%d kills, %d of them while a run was under way; runs: %s", killed, begun,
		strings.Join(h.Record(`SELECT job_id || ' ' || trigger || ' ' || status || ' ' || count(*) FROM job_runs GROUP BY job_id, trigger, status`), ", "))
	if killed == 0 || fmt.Sprint(h.Record(`SELECT count(*) FROM job_runs WHERE status = 'completed'`)) == "[0]" {
		t.Error("nothing was killed, or nothing ran")
	}
}

// waitNear waits until a moment around a whole second, when jobs are due.
func waitNear(rng *rand.Rand) {
	now := time.Now()
	at := now.Truncate(time.Second).Add(time.Duration(1+rng.IntN(3))*time.Second + time.Duration(rng.IntN(320)-60)*time.Millisecond)
	time.Sleep(at.Sub(now))
}
