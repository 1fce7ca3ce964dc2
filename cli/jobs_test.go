package cli

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/gateway"
	"picobot/internal/schedule"
)

// What `jobs get` prints is a job that can be put again: nothing else is in it.
func TestJobs_WhatIsGot_CanBePut(t *testing.T) {
	const body = `{"id": "tea", "kind": "outbound_message", "schedule": {"type": "cron", "expression": "0 16 * * *", "time_zone": "Asia/Shanghai"},
		"target": {"channel": "cli", "chat_id": "c"}, "payload": {"content": "Tea!"}, "misfire_policy": "run_all", "misfire_grace_seconds": 7, "enabled": true}`
	rules := schedule.Rules{Now: time.Now()}
	job, problems := schedule.Parse([]byte(body), "", rules)
	require.NoError(t, problems.Err())
	shown, err := json.Marshal(gateway.JobItem{
		Job: job, TimeZone: "Asia/Shanghai", State: "active", Source: "api", CreatedBy: "me", Origin: &gateway.JobOrigin{Channel: "cli"},
		LastRunAt: 1, LastStatus: "failed", NextRunAt: 2, NextRuns: []string{"x"}, CreatedAt: 3, UpdatedAt: 4,
	})
	require.NoError(t, err)
	again, problems := schedule.Parse(asPut(shown), "", rules)
	require.NoError(t, problems.Err())
	require.Equal(t, job, again)

	// A job of one's own is sent as it is: what is wrong in it is not hidden.
	for _, own := range []string{body, `{"id": "tea", "state": "paused"}`, `[]`, `{`} {
		require.Equal(t, own, string(asPut([]byte(own))))
	}
}

func TestJobsPut_WhatIsNoJob_IsRefusedInWordsOfItsWriter(t *testing.T) {
	for in, want := range map[string]string{
		`[]`:        `standard input is not one JSON object whose "id" is a text: write a job as `,
		`{"id": 5}`: `standard input is not one JSON object whose "id" is a text: write a job as `,
		`rubbish`:   "standard input is no JSON: invalid character",
		``:          "standard input is no JSON: unexpected end",
	} {
		h := newHarness(t)
		h.stdin = in
		r := h.run("jobs", "put", "-")
		require.Equal(t, 1, r.code)
		require.Contains(t, r.stderr, want)
		require.NotContains(t, r.stderr, "Go ")
	}
}
