package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/config"
)

func TestJobs_OneBadJob_StopsNoOther(t *testing.T) {
	c := mustLoad(t, `{"scheduler": {"jobs": [
		{"id": "good", "kind": "outbound_message", "schedule": {"type": "interval", "seconds": 60}, "target": {"channel": "cli", "chat_id": "me"}, "payload": {"content": "hi"}},
		{"id": "bad", "kind": "outbound_message", "schedule": {"type": "cron", "expression": "nonsense"}, "target": {"channel": "cli", "chat_id": "me"}, "payload": {"content": "hi"}},
		{"id": "good", "kind": "internal_event", "schedule": {"type": "interval", "seconds": 60}, "payload": {"event": "session_cleanup"}},
		{"id": "last", "kind": "internal_event", "schedule": {"type": "interval", "seconds": 60}, "payload": {"event": "session_cleanup"}},
	]}}`)
	jobs, wrong := c.Jobs(time.Now())
	require.Len(t, jobs, 2)
	require.Equal(t, "good", jobs[0].ID)
	require.NotContains(t, jobs[0].Text, "\n")
	require.Equal(t, "last", jobs[1].ID)
	require.Equal(t, []string{"scheduler.jobs[1].schedule.expression", "scheduler.jobs[2].id"}, []string{wrong[0].Path, wrong[1].Path})
}

// Taken over, it would be replaced by the built-in one, and the next start would find
// the configuration changing a built-in job, and fail.
func TestJobs_WithTheIDOfTheBuiltInOne_AreLeftOut(t *testing.T) {
	c := mustLoad(t, `{"scheduler": {"jobs": [
		{"id": "builtin.memory_maintenance_daily", "kind": "internal_event", "schedule": {"type": "interval", "seconds": 60}, "payload": {"event": "memory_maintenance"}},
		{"id": "good", "kind": "internal_event", "schedule": {"type": "interval", "seconds": 60}, "payload": {"event": "session_cleanup"}},
	]}}`)
	jobs, wrong := c.Jobs(time.Now())
	require.Len(t, jobs, 1)
	require.Equal(t, "good", jobs[0].ID)
	require.Len(t, wrong, 1)
	require.Equal(t, "scheduler.jobs[0].id", wrong[0].Path)
	require.Contains(t, wrong[0].Message, "is built in")
}

func TestZoneName_OfLocal_IsTheMachinesOwnName(t *testing.T) {
	c := mustLoad(t, `{}`, "TZ=Asia/Tokyo")
	require.Equal(t, "Asia/Tokyo", c.ZoneName())
	require.Equal(t, "Asia/Tokyo", c.JobRules(time.Now()).Zone)
	require.Equal(t, "Europe/Berlin", mustLoad(t, `{"time_zone": "Europe/Berlin"}`, "TZ=Asia/Tokyo").ZoneName())
	require.Equal(t, "Local", config.Config{TimeZone: "Local"}.ZoneName())
}
