package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/memory"
	"picobot/internal/tools"
	"picobot/store"
)

var august = func() time.Time { return time.Date(2026, 8, 23, 12, 0, 0, 0, time.UTC) }

func memories(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "sessions.db"), Now: august})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// as runs a tool in the name of a person.
func as(t *testing.T, tool tools.Tool, sender string, tx any, a args) tools.Result {
	t.Helper()
	text, err := json.Marshal(a)
	require.NoError(t, err)
	return registry(t, tools.Options{}, tool).Run(context.Background(), tools.Call{Channel: "cli", ChatID: "chat", SenderID: sender, Tx: tx}, tool.Name(), string(text))
}

func TestMemorySearch_FindsListsAndGets_OnlyWhatIsThePersons(t *testing.T) {
	s := memories(t)
	tool := tools.MemorySearch(s, time.UTC)
	for scope, list := range map[string][][3]string{
		"cli:alice": {{"profile", "birthday", "生日是五月三日。"}, {"preferences", "coffee", "Flat white,\nno sugar."}, {"profile", "name", "Alice " + strings.Repeat("x", 400)}},
		"cli:bob":   {{"profile", "birthday", "Bob's secret birthday"}},
	} {
		for _, m := range list {
			_, _, err := s.PutMemory(t.Context(), scope, memory.Name{Namespace: m[0], Key: m[1]}, m[2])
			require.NoError(t, err)
		}
	}
	require.Equal(t, "1. profile/birthday (2026-08-23): 生日是五月三日。\n", requireOK(t, as(t, tool, "alice", nil, args{"action": "search", "query": "生日"})))
	require.Equal(t, "1. preferences/coffee (2026-08-23): Flat white, no sugar.\n", requireOK(t, as(t, tool, "alice", nil, args{"action": "search", "query": "sugar"})))
	require.Contains(t, requireOK(t, as(t, tool, "alice", nil, args{"action": "search", "query": "secret"})), "Nothing was found. There are 3 memories of this person, in the namespaces profile, preferences.")
	require.Contains(t, requireOK(t, as(t, tool, "carol", nil, args{"action": "search", "query": "birthday"})), "Nothing is remembered of this person yet.")
	require.Equal(t, "preferences/coffee (2026-08-23): Flat white,\nno sugar.", requireOK(t, as(t, tool, "alice", nil, args{"action": "get", "namespace": "preferences", "key": "coffee"})))
	list := requireOK(t, as(t, tool, "alice", nil, args{"action": "list"}))
	require.Equal(t, 3, strings.Count(list, "\n"))
	require.Contains(t, list, "- preferences/coffee (2026-08-23): Flat white, no sugar.\n- profile/birthday")
	require.Contains(t, list, "x…")
	require.NotContains(t, list, "Bob")
	require.Contains(t, requireOK(t, as(t, tool, "alice", nil, args{"action": "list", "limit": 1})), "[there are more. There are 3 memories")
	require.Contains(t, requireOK(t, as(t, tool, "bob", nil, args{"action": "list"})), "Bob's secret")
}

func TestMemorySearch_BadArguments_SayWhatToDo(t *testing.T) {
	s := memories(t)
	tool := tools.MemorySearch(s, time.UTC)
	_, _, err := s.PutMemory(t.Context(), "cli:alice", memory.Name{Namespace: "profile", Key: "birthday"}, "x")
	require.NoError(t, err)
	for _, c := range []struct {
		a    args
		says string
	}{
		{args{}, `missing argument "action"`},
		{args{"action": "drop"}, "search | get | list"},
		{args{"action": "search"}, "query is empty"},
		{args{"action": "search", "query": strings.Repeat("字", 1001)}, "1001 characters"},
		{args{"action": "search", "query": "x", "limit": 0}, `"limit" must be from 1 to 50`},
		{args{"action": "search", "query": "x", "limit": 51}, `"limit" must be from 1 to 50`},
		{args{"action": "get"}, "needs both"},
		{args{"action": "get", "namespace": "profile"}, "needs both"},
		{args{"action": "get", "namespace": "profile", "key": "brithday"}, "the nearest are profile/birthday"},
		{args{"action": "list", "namespace": "a\nb"}, "U+000A"},
		{args{"action": "list", "scope_key": "cli:bob"}, `unknown argument "scope_key"`},
	} {
		requireError(t, as(t, tool, "alice", nil, c.a), c.says)
	}
	requireError(t, as(t, tool, "", nil, args{"action": "list"}), "no person")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(tools.ErrCancelled)
	r := registry(t, tools.Options{}, tool).Run(ctx, tools.Call{SenderID: "alice"}, "memory_search", `{"action":"list"}`)
	requireError(t, r, "stopped by the user")
}

func TestMemorySearch_RecordThatDoesNotAnswer_IsAnError(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "sessions.db"), Now: august})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	for _, a := range []args{{"action": "list"}, {"action": "search", "query": "x"}, {"action": "get", "namespace": "a", "key": "b"}} {
		requireError(t, as(t, tools.MemorySearch(s, time.UTC), "alice", nil, a), "closed")
	}
}

// writer is a transaction that holds memories, or fails.
type writer struct {
	there map[memory.Name]string
	err   error
}

func (w *writer) PutMemory(n memory.Name, content string) (bool, error) {
	_, was := w.there[n]
	if w.err == nil {
		w.there[n] = content
	}
	return !was, w.err
}

func (w *writer) UpdateMemory(n memory.Name, content string) error {
	if _, ok := w.there[n]; !ok {
		return &memory.MissingError{Name: n, Nearest: []memory.Name{{Namespace: "profile", Key: "birthday"}}}
	}
	w.there[n] = content
	return w.err
}

func (w *writer) DeleteMemory(n memory.Name) error {
	if _, ok := w.there[n]; !ok {
		return &memory.MissingError{Name: n}
	}
	delete(w.there, n)
	return w.err
}

func TestMemoryManage_PutsUpdatesAndDeletes(t *testing.T) {
	w := &writer{there: map[memory.Name]string{}}
	do := func(action, namespace, key, content string) tools.Result {
		a := args{"action": action, "namespace": namespace, "key": key}
		if content != "" {
			a["content"] = content
		}
		return as(t, tools.MemoryManage(), "alice", w, a)
	}
	require.Equal(t, "Remembered 个人/生日.", requireOK(t, do("put", " 个人 ", "生日", "五月三日")))
	require.Equal(t, "Remembered 个人/生日, in place of what it said before.", requireOK(t, do("put", "个人", "生日", "五月四日")))
	require.Equal(t, "Updated 个人/生日.", requireOK(t, do("update", "个人", "生日", "五月五日")))
	require.Equal(t, map[memory.Name]string{{Namespace: "个人", Key: "生日"}: "五月五日"}, w.there)
	requireError(t, do("update", "profile", "brithday", "x"), "the nearest are profile/birthday. Write a new memory with put")
	require.Equal(t, "Forgot 个人/生日.", requireOK(t, do("delete", "个人", "生日", "")))
	requireError(t, do("delete", "个人", "生日", ""), "there is no memory")
	require.Empty(t, w.there)
	w.err = errors.New("the record is full")
	requireError(t, do("put", "a", "b", "c"), "the record is full")
}

func TestMemoryManage_BadArguments_WriteNothing(t *testing.T) {
	w := &writer{there: map[memory.Name]string{}}
	for says, a := range map[string]args{
		`missing argument "namespace"`: {"action": "put", "key": "k", "content": "c"},
		`missing argument "key"`:       {"action": "put", "namespace": "n", "content": "c"},
		"put | update | delete":        {"action": "drop", "namespace": "n", "key": "k"},
		"the content is empty":         {"action": "put", "namespace": "n", "key": "k"},
		"the content is empty:":        {"action": "update", "namespace": "n", "key": "k", "content": " \n "},
		"8001 characters":              {"action": "put", "namespace": "n", "key": "k", "content": strings.Repeat("字", 8001)},
		"U+0007":                       {"action": "put", "namespace": "n", "key": "k", "content": "a\a"},
		"the key is empty":             {"action": "put", "namespace": "n", "key": " ", "content": "c"},
		"the namespace contains":       {"action": "put", "namespace": "n\u202e", "key": "k", "content": "c"},
		"the key is too long":          {"action": "put", "namespace": "n", "key": strings.Repeat("k", 129), "content": "c"},
		`unknown argument "scope_key"`: {"action": "put", "namespace": "n", "key": "k", "content": "c", "scope_key": "cli:bob"},
	} {
		requireError(t, as(t, tools.MemoryManage(), "alice", w, a), says)
	}
	requireError(t, as(t, tools.MemoryManage(), "", w, args{"action": "put", "namespace": "n", "key": "k", "content": "c"}), "no person")
	requireError(t, as(t, tools.MemoryManage(), "alice", nil, args{"action": "put", "namespace": "n", "key": "k", "content": "c"}), "without a transaction")
	require.Empty(t, w.there)
	r := registry(t, tools.Options{}, tools.MemoryManage())
	require.Equal(t, tools.Record, r.Effect("memory_manage", `{"action":"delete","namespace":"n","key":"k"}`))
	require.Equal(t, tools.ReadOnly, registry(t, tools.Options{}, tools.MemorySearch(memories(t), nil)).Effect("memory_search", `{"action":"list"}`))
	require.Equal(t, "memory_manage: put n/k", r.Summary("memory_manage", fmt.Sprintf(`{"action":"put","namespace":"n","key":"k","content":%q}`, "private"), 0))
}
