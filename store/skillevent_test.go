package store_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/store"
)

func skillEvent(skill, event, path string) store.SkillEvent {
	e := store.SkillEvent{Skill: skill, Event: event, Scope: "user"}
	if path != "" {
		e.Detail, _ = json.Marshal(map[string]string{"path": path})
	}
	return e
}

func skillEvents(t *testing.T, s *store.Store, skill string) []string {
	t.Helper()
	list, err := s.SkillEvents(t.Context(), skill, 0)
	require.NoError(t, err)
	var out []string
	for _, e := range slices.Backward(list) {
		out = append(out, e.Event+" "+e.Skill)
	}
	return out
}

func TestAddSkillEvents_WhatIsFoundAgain_IsNoNews(t *testing.T) {
	s := open(t)
	add := func(events ...store.SkillEvent) {
		t.Helper()
		require.NoError(t, s.AddSkillEvents(t.Context(), events))
	}
	found := []store.SkillEvent{skillEvent("a", "discovered", "/1"), skillEvent("a", "discovered", "/2"), skillEvent("b", "skipped", "/3")}
	add(found...)
	add(found...)
	add(found[2], found[0])
	require.Equal(t, []string{"discovered a", "discovered a", "skipped b"}, skillEvents(t, s, ""))
	add(skillEvent("b", "discovered", "/3"), skillEvent("b", "skipped", "/3"), skillEvent("b", "skipped", "/3"))
	require.Equal(t, []string{"skipped b", "discovered b", "skipped b"}, skillEvents(t, s, "b"))
	add(skillEvent("a", "deleted", ""), skillEvent("a", "deleted", ""), found[0])
	require.Equal(t, []string{"discovered a", "discovered a", "deleted a", "deleted a", "discovered a"}, skillEvents(t, s, "a"))
	add(store.SkillEvent{Event: "reloaded"}, store.SkillEvent{Event: "reloaded"})
	require.Equal(t, []string{"reloaded ", "reloaded "}, skillEvents(t, s, "")[8:], "that one happened twice")
}

// A read-only tool may run again after a crash.
func TestAddSkillEvents_ActivationRunAgain_IsOneEvent(t *testing.T) {
	s := open(t)
	e := store.SkillEvent{Skill: "a", Event: "activated", Scope: "user", SessionID: "cli:a:1", Detail: json.RawMessage(`{"call":"t.1.0"}`)}
	for range 2 {
		require.NoError(t, s.AddSkillEvents(t.Context(), []store.SkillEvent{e, e}))
	}
	e.Detail = json.RawMessage(`{"call":"t.2.0"}`)
	require.NoError(t, s.AddSkillEvents(t.Context(), []store.SkillEvent{e}))
	list, err := s.SkillEvents(t.Context(), "a", 0)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.NotEmpty(t, list[0].ID)
	require.NotZero(t, list[0].CreatedAt)
	list[0].ID, list[0].CreatedAt = "", 0
	require.Equal(t, e, list[0])
	one, err := s.SkillEvents(t.Context(), "", 1)
	require.NoError(t, err)
	require.Len(t, one, 1)
}
