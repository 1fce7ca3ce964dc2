package fakeanthropic_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"picobot/internal/testkit/fakeanthropic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post sends a body as it is and returns status and reply. It uses a client of its
// own: the fake must work for whoever speaks HTTP.
func post(t *testing.T, s *fakeanthropic.Server, body string) (int, string, error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v1/messages", strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("X-Api-Key", s.Key())
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { require.NoError(t, resp.Body.Close()) }()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// body is a request with these messages and further fields.
func body(messages string, fields ...string) string {
	return `{"model":"m","max_tokens":100,"messages":[` + messages + `]` + strings.Join(append([]string{""}, fields...), ",") + `}`
}

const (
	user   = `{"role":"user","content":"hi"}`
	calls  = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{"x":1}}]}`
	both   = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"2"},{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"1"}]},{"type":"text","text":"go on"}]}`
	tool   = `"tools":[{"name":"f","input_schema":{"type":"object"}}]`
	mark   = `"cache_control":{"type":"ephemeral"}`
	pixel  = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
	schema = `{"type":"object","properties":{},"additionalProperties":false}`
)

func thinking(model, text string) string {
	return `{"type":"thinking","thinking":"` + text + `","signature":"` + fakeanthropic.Sign(model, text) + `"}`
}

func says(content string) string { return `{"role":"user","content":[` + content + `]}` }

func TestValidRequests_AreAnswered(t *testing.T) {
	for name, sent := range map[string]string{
		"one message":               body(user),
		"a system prompt":           body(user, `"system":"s"`),
		"system blocks":             body(user, `"system":[{"type":"text","text":"s",`+mark+`}]`),
		"calls with their results":  body(user+`,`+calls+`,`+both, tool),
		"an image":                  body(says(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}}`)),
		"an image by its address":   body(says(`{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}`)),
		"a thought of its own":      body(user+`,{"role":"assistant","content":[`+thinking("m", "hm")+`,{"type":"text","text":"x"}]},`+user, `"thinking":{"type":"adaptive"}`),
		"tools that are forbidden":  body(user, tool, `"tool_choice":{"type":"none"}`),
		"structured outputs":        body(user, `"output_config":{"format":{"type":"json_schema","schema":`+schema+`}}`),
		"four breakpoints":          body(says(strings.Repeat(`{"type":"text","text":"x",`+mark+`},`, 3)+`{"type":"text","text":"x",`+mark+`}`), `"temperature":0`),
		"thinking within its limit": body(user, `"thinking":{"type":"enabled","budget_tokens":1024},"max_tokens":2000`),
	} {
		t.Run(name, func(t *testing.T) {
			s := fakeanthropic.Start(t, fakeanthropic.Config{})
			status, reply, err := post(t, s, sent)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status, reply)
			require.Empty(t, s.Refused())
			require.Equal(t, sent, string(s.Requests()[0].Raw))
		})
	}
}

func TestWrongRequests_AreRefused(t *testing.T) {
	for name, row := range map[string]struct{ sent, because string }{
		"no JSON":                      {`{`, "not valid JSON"},
		"no model":                     {`{"max_tokens":1,"messages":[` + user + `]}`, "model: Field required"},
		"no limit":                     {`{"model":"m","messages":[` + user + `]}`, "max_tokens: Field required"},
		"no messages":                  {body(""), "at least one message"},
		"a field that is unknown":      {body(user, `"stream_options":{}`), "stream_options: Extra inputs are not permitted"},
		"a field of a block":           {body(says(`{"type":"text","text":"x","name":"y"}`)), "Extra inputs"},
		"a system role":                {body(user + `,{"role":"system","content":"x"}`), "role"},
		"two of one side":              {body(user + `,` + user), "alternate"},
		"the assistant first":          {body(`{"role":"assistant","content":"x"},` + user), "first message"},
		"the assistant last":           {body(user + `,{"role":"assistant","content":"x"}`), "prefill"},
		"no content":                   {body(`{"role":"user","content":[]}`), "non-empty content"},
		"an empty text":                {body(`{"role":"user","content":""}`), "non-empty content"},
		"an empty text block":          {body(says(`{"type":"text","text":""}`)), "non-whitespace"},
		"a blank text block":           {body(says(`{"type":"text","text":" \n"}`)), "non-whitespace"},
		"an empty system block":        {body(user, `"system":[{"type":"text","text":""}]`), "non-whitespace"},
		"an unknown block":             {body(says(`{"type":"hologram"}`)), "Input tag 'hologram'"},
		"a call of the user":           {body(says(`{"type":"tool_use","id":"a","name":"f","input":{}}`), tool), "not permitted"},
		"a call without its result":    {body(user+`,`+calls+`,`+user, tool), "without `tool_result` blocks"},
		"one of two results":           {body(user+`,`+calls+`,`+says(`{"type":"tool_result","tool_use_id":"a"}`), tool), "without `tool_result` blocks"},
		"a result of nothing":          {body(says(`{"type":"tool_result","tool_use_id":"a"}`), tool), "unexpected `tool_use_id`"},
		"a result of a mere thought":   {body(user+`,{"role":"assistant","content":[`+thinking("m", "hm")+`]},`+both, tool), "unexpected `tool_use_id`"},
		"a result of an empty answer":  {body(user+`,{"role":"assistant","content":[]},`+both, tool), "non-empty content"},
		"a result twice":               {body(user+`,`+calls+`,`+strings.Replace(both, `"b"`, `"a"`, 1), tool), "unexpected `tool_use_id`"},
		"a result behind text":         {body(user+`,`+calls+`,`+says(`{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"b"}`), tool), "immediately after"},
		"an empty result text":         {body(user+`,`+calls+`,`+strings.Replace(both, `"1"`, `""`, 1), tool), "non-whitespace"},
		"calls without tools":          {body(user + `,` + calls + `,` + both), "must define tools"},
		"ids that repeat":              {body(user+`,`+strings.Replace(calls, `"b"`, `"a"`, 1)+`,`+both, tool), "unique"},
		"an odd id":                    {body(user+`,`+strings.Replace(calls, `"a"`, `"f.a:0"`, 1)+`,`+strings.Replace(both, `"a"`, `"f.a:0"`, 1), tool), "pattern"},
		"an odd name":                  {body(user+`,`+strings.Replace(calls, `"f"`, `"f g"`, 1)+`,`+both, tool), "pattern"},
		"input that is no object":      {body(user+`,`+strings.Replace(calls, `{"x":1}`, `"x"`, 1)+`,`+both, tool), "valid dictionary"},
		"a tool of an odd name":        {body(user, strings.Replace(tool, `"f"`, `"f g"`, 1)), "pattern"},
		"a tool without a schema":      {body(user, `"tools":[{"name":"f"}]`), "input_schema"},
		"a tool twice":                 {body(user, `"tools":[{"name":"f","input_schema":{"type":"object"}},{"name":"f","input_schema":{"type":"object"}}]`), "unique"},
		"a choice without tools":       {body(user, `"tool_choice":{"type":"none"}`), "tool_choice"},
		"a choice of no tool":          {body(user, tool, `"tool_choice":{"type":"tool","name":"g"}`), "not found"},
		"too warm":                     {body(user, `"temperature":1.5`), "range: 0..1"},
		"warm where it is deprecated":  {strings.Replace(body(user, `"temperature":0.5`), `"m"`, `"claude-opus-4-8"`, 1), "deprecated for this model"},
		"warm while thinking":          {body(user, `"temperature":0.5,"thinking":{"type":"adaptive"}`), "only be set to 1"},
		"thinking beyond the limit":    {body(user, `"thinking":{"type":"enabled","budget_tokens":1024}`), "must be greater than"},
		"forced while thinking":        {body(user, tool, `"tool_choice":{"type":"any"},"thinking":{"type":"adaptive"}`), "forces tool use"},
		"a forged signature":           {body(user + `,{"role":"assistant","content":[` + strings.Replace(thinking("m", "hm"), "hm", "hmm", 1) + `,{"type":"text","text":"x"}]},` + user), "Invalid `signature`"},
		"another model's signature":    {body(user + `,{"role":"assistant","content":[` + thinking("n", "hm") + `,{"type":"text","text":"x"}]},` + user), "Invalid `signature`"},
		"a forged hidden thought":      {body(user + `,{"role":"assistant","content":[{"type":"redacted_thinking","data":"encrypted x y"},{"type":"text","text":"x"}]},` + user), "Invalid `data`"},
		"a step without its thought":   {body(user+`,`+calls+`,`+both, tool, `"thinking":{"type":"enabled","budget_tokens":1024},"max_tokens":2000`), "must start with a thinking block"},
		"five breakpoints":             {body(says(strings.Repeat(`{"type":"text","text":"x",`+mark+`},`, 4)+`{"type":"text","text":"x"}`), `"system":[{"type":"text","text":"s",`+mark+`}]`), "maximum of 4 blocks"},
		"a breakpoint on a thought":    {body(user + `,{"role":"assistant","content":[` + strings.Replace(thinking("m", "hm"), "}", ","+mark+"}", 1) + `,{"type":"text","text":"x"}]},` + user), "Extra inputs"},
		"an image that is none":        {body(says(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"eA=="}}`)), "appears to be"},
		"an image of another type":     {body(says(`{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"` + pixel + `"}}`)), "appears to be a image/png"},
		"an image of an unknown type":  {body(says(`{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"` + pixel + `"}}`)), "media_type"},
		"an image that is too large":   {body(says(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + strings.Repeat("A", 6<<20) + `"}}`)), "exceeds 5 MB"},
		"an open schema":               {body(user, `"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}`), "additionalProperties"},
		"an empty thought not a thing": {body(user + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"x"}]},` + user), "signature: Field required"},
	} {
		t.Run(name, func(t *testing.T) {
			s := fakeanthropic.Start(t, fakeanthropic.Config{})
			status, reply, err := post(t, s, row.sent)
			require.NoError(t, err)
			require.Equal(t, http.StatusBadRequest, status, reply)
			var e struct {
				Type  string
				Error struct{ Type, Message string }
			}
			require.NoError(t, json.Unmarshal([]byte(reply), &e))
			require.Equal(t, "error", e.Type)
			require.Equal(t, "invalid_request_error", e.Error.Type)
			require.Contains(t, e.Error.Message, row.because)
			require.Len(t, s.Refused(), 1)
		})
	}
}

func TestAThoughtThatComesBackChanged_IsRefused(t *testing.T) {
	s := fakeanthropic.Start(t, fakeanthropic.Config{})
	s.Enqueue(fakeanthropic.Reply{Thinking: "hm", Text: "x", ToolCalls: []fakeanthropic.ToolCall{{ID: "a", Name: "f", Input: "{}"}}})
	_, _, err := post(t, s, body(user, tool))
	require.NoError(t, err)
	back := func(blocks string) string {
		return body(user+`,{"role":"assistant","content":[`+blocks+`]},`+says(`{"type":"tool_result","tool_use_id":"a","content":"1"}`), tool)
	}
	text, use := `{"type":"text","text":"x"}`, `{"type":"tool_use","id":"a","name":"f","input":{}}`
	for blocks, status := range map[string]int{
		thinking("m", "hm") + "," + text + "," + use: 200,
		text + "," + use: 200, // without thoughts nothing is compared
		text + "," + thinking("m", "hm") + "," + use:                               400,
		thinking("m", "hm") + "," + use:                                            400,
		thinking("m", "hm") + "," + thinking("m", "more") + "," + text + "," + use: 400,
	} {
		got, reply, err := post(t, s, back(blocks))
		require.NoError(t, err)
		require.Equal(t, status, got, "%s: %s", blocks, reply)
	}
}

// The events are those of https://platform.claude.com/docs/en/build-with-claude/streaming.
func TestAStream_HasTheEventsOfTheRealOne(t *testing.T) {
	s := fakeanthropic.Start(t, fakeanthropic.Config{TextPiece: 100})
	s.Enqueue(fakeanthropic.Reply{Thinking: "hm", Text: "x", ToolCalls: []fakeanthropic.ToolCall{{ID: "a", Name: "f", Input: `{"y":1}`}}, Usage: &fakeanthropic.Usage{Input: 1, Output: 9}})
	_, reply, err := post(t, s, body(user, tool, `"stream":true`))
	require.NoError(t, err)
	var names []string
	for line := range strings.Lines(reply) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "event: "); ok {
			names = append(names, name)
		}
	}
	require.Equal(t, []string{"message_start",
		"content_block_start", "ping", "content_block_delta", "content_block_delta", "content_block_stop",
		"content_block_start", "content_block_delta", "content_block_stop",
		"content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
		"message_delta", "message_stop"}, names)
	require.Contains(t, reply, `"stop_reason":"tool_use"`)
	require.Contains(t, reply, `"partial_json":"{\"y\":1}"`)
}

func TestWhatWasCached_IsReadAgain(t *testing.T) {
	s := fakeanthropic.Start(t, fakeanthropic.Config{})
	one := body(user, `"system":[{"type":"text","text":"s",`+mark+`}]`)
	for _, sent := range []string{one, one, strings.Replace(one, `"s"`, `"t"`, 1)} {
		_, _, err := post(t, s, sent)
		require.NoError(t, err)
	}
	r := s.Requests()
	require.Equal(t, [3][2]int{{0, 1}, {1, 0}, {0, 1}}, [3][2]int{{r[0].CacheRead, r[0].CacheWritten}, {r[1].CacheRead, r[1].CacheWritten}, {r[2].CacheRead, r[2].CacheWritten}})
	require.Equal(t, []string{"system.0"}, r[0].Breakpoints)
}

func TestScriptedFailures(t *testing.T) {
	s := fakeanthropic.Start(t, fakeanthropic.Config{})
	streamed := body(user, `"stream":true`)

	s.Enqueue(fakeanthropic.Error{Status: 529})
	status, reply, err := post(t, s, streamed)
	require.NoError(t, err)
	require.Equal(t, 529, status)
	require.Contains(t, reply, `"overloaded_error"`)

	s.Enqueue(fakeanthropic.FailStream{Reply: fakeanthropic.Reply{Text: "half"}, AfterEvents: 2, Type: "overloaded_error", Message: "Overloaded"})
	_, reply, err = post(t, s, streamed)
	require.NoError(t, err)
	require.Contains(t, reply, "event: error\n")
	require.NotContains(t, reply, "message_stop")

	s.Enqueue(fakeanthropic.CutStream{Reply: fakeanthropic.Reply{Text: "half"}, AfterEvents: 2})
	_, _, err = post(t, s, streamed)
	require.Error(t, err)

	s.Enqueue(fakeanthropic.CutStream{Reply: fakeanthropic.Reply{Text: "half"}, AfterEvents: 2, Clean: true})
	_, reply, err = post(t, s, streamed)
	require.NoError(t, err)
	require.NotContains(t, reply, "message_delta")

	release := make(chan struct{})
	s.Enqueue(fakeanthropic.Hang{Release: release}, fakeanthropic.Reply{Text: "slow", Latency: time.Millisecond, ChunkDelay: time.Millisecond})
	time.AfterFunc(time.Millisecond, func() { close(release) })
	_, reply, err = post(t, s, body(user))
	require.NoError(t, err)
	require.Contains(t, reply, "released")
	_, reply, err = post(t, s, streamed)
	require.NoError(t, err)
	require.Contains(t, reply, "slow")
}

func TestWrongKeys_AreRefused(t *testing.T) {
	s := fakeanthropic.Start(t, fakeanthropic.Config{})
	for key, version := range map[string]string{"wrong": "2023-06-01", s.Key(): ""} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/v1/models", nil)
		require.NoError(t, err)
		req.Header.Set("X-Api-Key", key)
		req.Header.Set("Anthropic-Version", version)
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.GreaterOrEqual(t, resp.StatusCode, 400)
	}
}
