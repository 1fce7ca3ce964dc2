package gateway

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/flow"
	"picobot/store"
)

func TestMaintenance_IsStartedOnceAndToldOf(t *testing.T) {
	var asked []string
	var fails error
	r := newRig(t, func(_ *Options, d *Deps) {
		d.Maintain = func(_ context.Context, scope string) (string, error) {
			asked = append(asked, scope)
			return "run1", fails
		}
	})
	status, body := r.send(http.MethodPost, "/api/v1/memories/maintain", "")
	require.Equal(t, http.StatusAccepted, status, body)
	require.JSONEq(t, `{"id":"run1"}`, body)
	status, _ = r.send(http.MethodPost, "/api/v1/memories/maintain", `{"scope_key":"cli:alice"}`)
	require.Equal(t, http.StatusAccepted, status)
	require.Equal(t, []string{"", "cli:alice"}, asked)
	status, body = r.send(http.MethodPost, "/api/v1/memories/maintain", `{"scope_key":"alice"}`)
	require.Equal(t, http.StatusBadRequest, status, body)
	fails = flow.ErrMaintenanceRuns
	status, body = r.send(http.MethodPost, "/api/v1/memories/maintain", "")
	require.Equal(t, http.StatusConflict, status, body)
	fails = errors.New("temporal is away")
	status, body = r.send(http.MethodPost, "/api/v1/memories/maintain", "")
	require.Equal(t, http.StatusServiceUnavailable, status, body)

	status, _ = r.send(http.MethodGet, "/api/v1/memories/maintenance/run1", "")
	require.Equal(t, http.StatusNotFound, status, "no worker has begun it yet")
	for _, run := range []string{"run1", "run2", "run3"} {
		_, err := r.record.NextMaintenance(t.Context(), store.NextMaintenance{Run: run, MaxTokens: 1})
		require.NoError(t, err)
	}
	var one MaintenanceItem
	r.get("/api/v1/memories/maintenance/run1", &one)
	require.Equal(t, "failed", one.Status)
	require.Equal(t, "it was given up, and another run took its place", one.Error)
	var page struct {
		Items []MaintenanceItem `json:"items"`
		Next  string            `json:"next"`
	}
	r.get("/api/v1/memories/maintenance?limit=2", &page)
	require.Equal(t, "run3", page.Items[0].ID)
	require.Equal(t, "running", page.Items[0].Status)
	require.Len(t, page.Items, 2)
	r.get("/api/v1/memories/maintenance?limit=2&cursor="+page.Next, &page)
	require.Equal(t, "run1", page.Items[0].ID)
	require.Empty(t, page.Next)
}

func TestMaintenance_TurnedOff_IsRefused(t *testing.T) {
	r := newRig(t)
	status, body := r.send(http.MethodPost, "/api/v1/memories/maintain", "")
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, body, "memory.maintenance_enabled")
}
