package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const dailyJob = `{"kind": "outbound_message", "schedule": {"type": "cron", "expression": "30 18 * * *", "time_zone": "Asia/Shanghai"},
	"target": {"channel": "cli", "chat_id": "me"}, "payload": {"content": "hello"}}`

// TestJobs_OverHTTP_FromPutToDelete goes the whole way of a job.
func TestJobs_OverHTTP_FromPutToDelete(t *testing.T) {
	r := newRig(t)
	ask := func(method, path, body string, status int) (out map[string]any) {
		t.Helper()
		req, err := http.NewRequest(method, "http://"+r.server.Addr()+"/api/v1/jobs"+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+testToken)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, status, resp.StatusCode, string(text))
		if len(text) > 0 {
			require.NoError(t, json.Unmarshal(text, &out))
		}
		return out
	}
	reason := func(answer map[string]any) string {
		e, _ := answer["error"].(map[string]any)
		text, _ := e["message"].(string)
		return text
	}
	made := ask("PUT", "/daily", dailyJob, http.StatusCreated)
	require.Equal(t, "daily", made["id"])
	require.Equal(t, "active", made["state"])
	require.Equal(t, "api", made["source"])
	require.Equal(t, "skip", made["misfire_policy"])
	require.Len(t, made["next_runs"], 3)
	require.Contains(t, made["next_runs"].([]any)[0], "T18:30:00+08:00", "in the job's zone")
	require.NotZero(t, made["next_run_at"])
	require.Equal(t, made["created_at"], ask("PUT", "/daily", dailyJob, http.StatusOK)["created_at"], "the same job")

	require.Contains(t, reason(ask("PUT", "/daily", strings.Replace(dailyJob, "{", `{"id": "other", `, 1), http.StatusBadRequest)), "make them the same")
	require.Contains(t, reason(ask("PUT", "/daily", strings.Replace(dailyJob, "30 18", "61 18", 1), http.StatusBadRequest)), "schedule.expression: the minute 61")
	require.Contains(t, reason(ask("PUT", "/daily", "[]", http.StatusBadRequest)), "JSON object")
	ask("PUT", "/daily", strings.Repeat(" ", 2<<20), http.StatusRequestEntityTooLarge)

	require.Equal(t, "paused", ask("POST", "/daily/pause", "", http.StatusOK)["state"])
	require.Equal(t, "paused", ask("POST", "/daily/pause", "", http.StatusOK)["state"])
	require.Equal(t, "active", ask("POST", "/daily/resume", "", http.StatusOK)["state"])
	run := ask("POST", "/daily/run", "", http.StatusAccepted)
	require.Equal(t, "running", run["status"])
	require.Equal(t, "manual", run["trigger"])
	require.Contains(t, reason(ask("POST", "/daily/run", "", http.StatusConflict)), "running")
	runs := ask("GET", "/daily/runs", "", http.StatusOK)
	require.Len(t, runs["items"], 1)
	require.Len(t, ask("GET", "", "", http.StatusOK)["items"], 1)

	ask("DELETE", "/daily", "", http.StatusNoContent)
	require.Len(t, ask("GET", "/daily/runs", "", http.StatusOK)["items"], 1, "what ran stays")
	for _, path := range []string{"/daily", "/none/runs"} {
		ask("GET", path, "", http.StatusNotFound)
	}
	for _, action := range []string{"/pause", "/resume", "/run"} {
		ask("POST", "/daily"+action, "", http.StatusNotFound)
	}
	ask("DELETE", "/daily", "", http.StatusNotFound)
	ask("GET", "/daily/runs?cursor=x", "", http.StatusBadRequest)
}
