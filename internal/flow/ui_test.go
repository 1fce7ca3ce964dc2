package flow

import (
	"net/url"
	"testing"
)

func TestUI_Run_IsTheRunsPage(t *testing.T) {
	u := UI{URL: "http://127.0.0.1:8233/", Namespace: "default"}
	id := SessionWorkflowID("cli:聊天%3A:d")
	got := u.Run(id, "r")
	parsed, err := url.Parse(got)
	if err != nil || parsed.Path != "/namespaces/default/workflows/"+id+"/r/history" {
		t.Errorf("%s: %v %v", got, parsed, err)
	}
	if got := u.Run("session/a", ""); got != "http://127.0.0.1:8233/namespaces/default/workflows/session%2Fa" {
		t.Error(got)
	}
	if got := (UI{}).Run("session/a", "r"); got != "" {
		t.Errorf("without a UI there is no page, got %s", got)
	}
	if got := u.Run("", ""); got != "" {
		t.Errorf("without a workflow there is no page, got %s", got)
	}
}
