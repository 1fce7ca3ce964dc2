package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/memory"
)

// send makes a request with a body.
func (r *rig) send(method, path, body string) (int, string) {
	r.t.Helper()
	status, answer, _ := r.do(method, path, func(req *http.Request) {
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	})
	return status, answer
}

func memoryPath(scope, namespace, key string) string {
	return "/api/v1/memories?" + url.Values{"scope_key": {scope}, "namespace": {namespace}, "key": {key}}.Encode()
}

type memoryList struct {
	Items []MemoryItem `json:"items"`
	Next  string       `json:"next"`
}

func TestMemories_PutShowSearchDelete(t *testing.T) {
	r := newRig(t)
	status, body := r.send(http.MethodPut, memoryPath("cli:alice", "个人", "a/../b 生日"), `{"content":"生日是五月三日"}`)
	require.Equal(t, http.StatusCreated, status, body)
	var m MemoryItem
	require.NoError(t, json.Unmarshal([]byte(body), &m))
	require.Equal(t, "a/../b 生日", m.MemoryKey)
	require.Equal(t, memory.SourceAPI, m.SourceType)
	status, _ = r.send(http.MethodPut, memoryPath("cli:alice", "个人", "a/../b 生日"), `{"content":"生日是五月四日"}`)
	require.Equal(t, http.StatusOK, status)
	status, _ = r.send(http.MethodPut, memoryPath("cli:bob", "notes", "x"), `{"content":"another person's 五月"}`)
	require.Equal(t, http.StatusCreated, status)

	var l memoryList
	r.get(memoryPath("cli:alice", "个人", "a/../b 生日"), &l)
	require.Equal(t, "生日是五月四日", l.Items[0].Content)
	r.get("/api/v1/memories?scope_key=cli:alice&q=五月", &l)
	require.Len(t, l.Items, 1)
	require.Equal(t, "生日是五月四日", l.Items[0].Snippet)
	r.get("/api/v1/memories?q=五月", &l)
	require.Len(t, l.Items, 2)
	r.get("/api/v1/memories?scope_key=cli:nobody", &l)
	require.Empty(t, l.Items)

	l = memoryList{}
	r.get("/api/v1/memories?limit=1", &l)
	require.Len(t, l.Items, 1)
	var second memoryList
	r.get("/api/v1/memories?limit=1&cursor="+l.Next, &second)
	require.Equal(t, "cli:bob", second.Items[0].ScopeKey)
	require.Empty(t, second.Next)

	status, body = r.send(http.MethodDelete, memoryPath("cli:alice", "个人", "a/../b 生日"), "")
	require.Equal(t, http.StatusNoContent, status)
	require.Empty(t, body)
	status, _ = r.send(http.MethodDelete, memoryPath("cli:alice", "个人", "a/../b 生日"), "")
	require.Equal(t, http.StatusNotFound, status)
}

func TestMemories_BadRequests_SayWhatIsWrong(t *testing.T) {
	r := newRig(t)
	_, _, err := r.record.PutMemory(t.Context(), "cli:alice", memory.Name{Namespace: "profile", Key: "birthday"}, "x")
	require.NoError(t, err)
	for _, c := range []struct {
		status             int
		method, path, body string
		says               string
	}{
		{400, "PUT", memoryPath("alice", "n", "k"), `{"content":"x"}`, "channel:sender_id"},
		{400, "PUT", memoryPath("cli:a", "", "k"), `{"content":"x"}`, "namespace is empty"},
		{400, "PUT", memoryPath("cli:a", "n", "a\nb"), `{"content":"x"}`, "U+000A"},
		{400, "PUT", memoryPath("cli:a", "n", "k"), ``, "content is empty"},
		{400, "PUT", memoryPath("cli:a", "n", "k"), `{"text":"x"}`, "unknown field"},
		{400, "PUT", memoryPath("cli:a", "n", "k"), `{"content":"x"} 1`, "nothing after it"},
		{400, "PUT", memoryPath("cli:a", "n", "k"), `[]`, "not what is expected"},
		{413, "PUT", memoryPath("cli:a", "n", "k"), `{"content":"` + strings.Repeat("x", 1<<20) + `"}`, "1 MiB"},
		{400, "GET", "/api/v1/memories?cursor=nonsense!", "", "cursor"},
		{400, "GET", "/api/v1/memories?limit=0", "", "limit"},
		{400, "GET", "/api/v1/memories?q=" + strings.Repeat("x", 1001), "", "1001"},
		{404, "GET", memoryPath("cli:alice", "profile", "brithday"), "", "the nearest are profile/birthday"},
		{404, "DELETE", memoryPath("cli:bob", "profile", "birthday"), "", "there is no memory"},
		{405, "PATCH", "/api/v1/memories", "", "DELETE, GET, PUT only"},
	} {
		status, body := r.send(c.method, c.path, c.body)
		require.Equal(t, c.status, status, c.path+" "+body)
		require.Contains(t, body, c.says)
	}
}
