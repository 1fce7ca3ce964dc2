package flow

import (
	"net/url"
	"testing"
	"time"
)

func TestUI_Run_IsTheRunsPage(t *testing.T) {
	u := UI{URL: "http://127.0.0.1:8233/", Namespace: "default"}
	id := SessionWorkflowID("cli:聊天%3A:d")
	got := u.Run(id, "r", 1)
	parsed, err := url.Parse(got)
	if err != nil || parsed.Path != "/namespaces/default/workflows/"+id+"/r/history" {
		t.Errorf("%s: %v %v", got, parsed, err)
	}
	if got := u.Run("session/a", "", 0); got != "http://127.0.0.1:8233/namespaces/default/workflows/session%2Fa" {
		t.Error(got)
	}
	if got := (UI{}).Run("session/a", "r", 0); got != "" {
		t.Errorf("without a UI there is no page, got %s", got)
	}
	if got := u.Run("", "", 0); got != "" {
		t.Errorf("without a workflow there is no page, got %s", got)
	}
}

// Temporal forgets runs; a link to one of those would lead nowhere.
func TestUI_Run_ThatIsNotKeptAnyMore_HasNoPage(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	u := UI{URL: "http://ui", Namespace: "default", Keeps: 24 * time.Hour, Now: func() time.Time { return now }}
	for over, kept := range map[int64]bool{0: true, now.UnixMilli(): true, now.Add(-24 * time.Hour).UnixMilli(): true, now.Add(-24*time.Hour - time.Second).UnixMilli(): false} {
		if got := u.Run("w", "r", over); (got != "") != kept {
			t.Errorf("over at %d: %q", over, got)
		}
	}
}
