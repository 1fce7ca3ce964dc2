package fakefeishu_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/testkit/fakefeishu"
)

// client is a plain client: the real one is in gateway/feishu.
type client struct {
	*testing.T
	server *fakefeishu.Server
	token  string
}

func newClient(t *testing.T, c fakefeishu.Config) *client {
	s := fakefeishu.Start(t, c)
	cl := &client{T: t, server: s}
	_, out := cl.do("POST", "/open-apis/auth/v3/tenant_access_token/internal", map[string]any{"app_id": fakefeishu.AppID, "app_secret": fakefeishu.AppSecret})
	cl.token = out["tenant_access_token"].(string)
	return cl
}

func (c *client) do(method, path string, body any) (status int, out map[string]any) {
	c.Helper()
	b, err := json.Marshal(body)
	require.NoError(c, err)
	req, err := http.NewRequest(method, c.server.URL()+path, bytes.NewReader(b))
	require.NoError(c, err)
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(c, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(c, err)
	require.NoError(c, json.Unmarshal(data, &out), "%s", data)
	return resp.StatusCode, out
}

func (c *client) send(kind, content, uuid string) (status int, code float64, id string) {
	c.Helper()
	status, out := c.do("POST", "/open-apis/im/v1/messages?receive_id_type=chat_id", map[string]any{"receive_id": "oc_1", "msg_type": kind, "content": content, "uuid": uuid})
	if data, ok := out["data"].(map[string]any); ok {
		id, _ = data["message_id"].(string)
	}
	return status, out["code"].(float64), id
}

func TestServer_ErrorsAreHTTP400WithACode(t *testing.T) {
	c := newClient(t, fakefeishu.Config{ChatRate: -1})
	c.server.Store(fakefeishu.Said{ChatID: "oc_1", Text: "x"})
	for name, m := range map[string]struct {
		kind, content string
		code          float64
	}{
		"no json":       {"text", "hello", 230001},
		"empty":         {"text", `{"text":" "}`, 230001},
		"long text":     {"text", `{"text":"` + strings.Repeat("x", 151<<10) + `"}`, 230025},
		"unknown type":  {"hologram", `{}`, 230054},
		"card v1":       {"interactive", `{"elements":[]}`, 230099},
		"not updatable": {"interactive", `{"schema":"2.0","body":{"elements":[{"tag":"markdown","content":"x"}]}}`, 230099},
		"big card":      {"interactive", `{"schema":"2.0","x":"` + strings.Repeat("x", 31<<10) + `"}`, 230025},
		"remote image":  {"interactive", `{"schema":"2.0","config":{"update_multi":true},"body":{"elements":[{"tag":"markdown","content":"![x](https://y)"}]}}`, 230099},
		"odd post":      {"post", `{"zh_cn":{"content":[[{"tag":"blink"}]]}}`, 230001},
	} {
		status, code, _ := c.send(m.kind, m.content, "")
		require.Equal(t, http.StatusBadRequest, status, name)
		require.Equal(t, m.code, code, name)
	}
	require.Empty(t, c.server.Shown("oc_1"))
}

func TestServer_UUID_ShowsAMessageOnceAnHour(t *testing.T) {
	now := time.Now()
	c := newClient(t, fakefeishu.Config{Now: func() time.Time { return now }, ChatRate: -1, TokenTTL: 10 * time.Hour})
	c.server.Store(fakefeishu.Said{ChatID: "oc_1", Text: "x"})
	_, _, first := c.send("text", `{"text":"a"}`, "u")
	_, _, again := c.send("post", `{"zh_cn":{"content":[[{"tag":"text","text":"a"}]]}}`, "u")
	require.Equal(t, first, again, "in whatever form it comes")
	now = now.Add(61 * time.Minute)
	_, _, later := c.send("text", `{"text":"a"}`, "u")
	require.NotEqual(t, first, later)
	_, code, _ := c.send("text", `{"text":"a"}`, strings.Repeat("u", 51))
	require.EqualValues(t, 230001, code)
}

func TestServer_RatesTokensAndPatches(t *testing.T) {
	now := time.Now()
	c := newClient(t, fakefeishu.Config{Now: func() time.Time { return now }})
	c.server.Store(fakefeishu.Said{ChatID: "oc_1", Text: "x"})
	var id string
	for range 5 {
		_, code, sent := c.send("text", `{"text":"a"}`, "")
		require.Zero(t, code)
		id = sent
	}
	_, code, _ := c.send("text", `{"text":"a"}`, "")
	require.EqualValues(t, 230020, code)
	status, out := c.do("PATCH", "/open-apis/im/v1/messages/"+id, map[string]any{"content": "{}"})
	require.Equal(t, http.StatusBadRequest, status, "a text is no card")
	require.EqualValues(t, 230001, out["code"])
	now = now.Add(3 * time.Hour)
	_, code, _ = c.send("text", `{"text":"a"}`, "")
	require.EqualValues(t, 99991663, code)
}

// The documents leave open whether a uuid is one of the chat or of the way it is sent.
func TestServer_UUIDApart_ForgetsRepliesInTheChat(t *testing.T) {
	for apart, want := range map[bool]int{false: 1, true: 2} {
		c := newClient(t, fakefeishu.Config{ChatRate: -1, UUIDApart: apart})
		asked := c.server.Store(fakefeishu.Said{ChatID: "oc_1", Text: "x"})
		text := `{"text":"hello"}`
		reply := map[string]any{"msg_type": "text", "content": text, "uuid": "u1"}
		status, _ := c.do("POST", "/open-apis/im/v1/messages/"+asked+"/reply", reply)
		require.Equal(t, http.StatusOK, status)
		c.server.Recall(asked)
		_, out := c.do("POST", "/open-apis/im/v1/messages/"+asked+"/reply", reply)
		require.Equal(t, apart, out["code"] == 230011.0)
		_, code, _ := c.send("text", text, "u1")
		require.Zero(t, code)
		require.Len(t, c.server.Shown("oc_1"), want)
	}
}
