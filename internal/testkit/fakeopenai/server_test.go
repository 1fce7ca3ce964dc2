package fakeopenai_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"picobot/internal/testkit/fakeopenai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post sends a body as it is and returns status and reply. It uses a client of its
// own: the fake must work for whoever speaks HTTP.
func post(t *testing.T, s *fakeopenai.Server, body string) (int, string, error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/chat/completions", strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+s.Key())
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
	return `{"model":"m","messages":[` + messages + `]` + strings.Join(append([]string{""}, fields...), ",") + `}`
}

const (
	user  = `{"role":"user","content":"hi"}`
	calls = `{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}`
	toolA = `{"role":"tool","tool_call_id":"a","content":"1"}`
	toolB = `{"role":"tool","tool_call_id":"b","content":""}`
)

func TestValidRequestsAreAnswered(t *testing.T) {
	for name, sent := range map[string]string{
		"one message":                    body(user),
		"system and developer":           body(`{"role":"system","content":"s"},{"role":"developer","content":"d"},` + user),
		"calls with their results":       body(user + `,` + calls + `,` + toolB + `,` + toolA + `,` + user),
		"call content null":              body(user + `,` + strings.Replace(calls, `"content":""`, `"content":null`, 1) + `,` + toolA + `,` + toolB),
		"an image":                       body(`{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]}`),
		"an image by its address":        body(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}`),
		"tools":                          body(user, `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"x":{}},"required":["x"]}}}]`, `"tool_choice":"none"`),
		"temperature and limit":          body(user, `"temperature":0`, `"max_tokens":5`),
		"fields that nobody knows":       body(user, `"thinking":{"type":"enabled"}`),
		"a reasoning model, new field":   strings.Replace(body(user, `"max_completion_tokens":5`), `"m"`, `"o3-mini"`, 1),
		"stream options with a stream":   body(user, `"stream":true`, `"stream_options":{"include_usage":true}`),
		"reasoning of an earlier answer": body(user + `,{"role":"assistant","content":"x","reasoning_content":"r"},` + user),
	} {
		t.Run(name, func(t *testing.T) {
			s := fakeopenai.Start(t, fakeopenai.Config{})
			status, reply, err := post(t, s, sent)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status, reply)
			require.Empty(t, s.Refused())
			require.Equal(t, sent, string(s.Requests()[0].Raw))
		})
	}
}

func TestWrongRequestsAreRefused(t *testing.T) {
	tool := func(function string) string { return `"tools":[{"type":"function","function":` + function + `}]` }
	for name, row := range map[string]struct {
		sent    string
		status  int
		because string
	}{
		"no JSON":                         {`{`, 400, "could not parse"},
		"no model":                        {`{"messages":[` + user + `]}`, 400, "model parameter"},
		"no messages":                     {body(""), 400, "empty array"},
		"unknown role":                    {body(`{"role":"robot","content":"x"}`), 400, "'robot'"},
		"user without text":               {body(`{"role":"user","content":""}`), 400, "non-empty"},
		"user with blanks":                {body(`{"role":"user","content":" \n"}`), 400, "non-empty"},
		"user null":                       {body(`{"role":"user","content":null}`), 400, "got null"},
		"user without content":            {body(`{"role":"user"}`), 422, "missing field `content`"},
		"system without text":             {body(`{"role":"system","content":""},` + user), 400, "non-empty"},
		"assistant without anything":      {body(user + `,{"role":"assistant","content":""}`), 400, "content or tool_calls"},
		"assistant null without calls":    {body(user + `,{"role":"assistant","content":null}`), 400, "content or tool_calls"},
		"assistant without content":       {body(user + `,` + strings.Replace(calls, `"content":"",`, ``, 1) + `,` + toolA + `,` + toolB), 422, "missing field `content`"},
		"tool null":                       {body(user + `,` + calls + `,` + toolA + `,{"role":"tool","tool_call_id":"b","content":null}`), 400, "got null"},
		"tool without content":            {body(user + `,` + calls + `,` + toolA + `,{"role":"tool","tool_call_id":"b"}`), 422, "missing field `content`"},
		"tool without an id":              {body(user + `,` + calls + `,` + toolA + `,{"role":"tool","content":"x"}`), 422, "missing field `tool_call_id`"},
		"orphan result":                   {body(user + `,` + toolA), 400, "must be a response"},
		"result of an earlier step":       {body(user + `,` + calls + `,` + toolA + `,` + toolB + `,{"role":"assistant","content":"x"},` + toolA), 400, "must be a response"},
		"result twice":                    {body(user + `,` + calls + `,` + toolA + `,` + toolB + `,` + toolA), 400, "must be a response"},
		"result after a system message":   {body(user + `,` + calls + `,` + toolA + `,{"role":"system","content":"s"},` + toolB), 400, "did not have response messages: b"},
		"call without result, then user":  {body(user + `,` + calls + `,` + toolA + `,` + user), 400, "did not have response messages: b"},
		"calls without results at end":    {body(user + `,` + calls), 400, "did not have response messages: a, b"},
		"arguments that are no JSON":      {body(user + `,` + strings.Replace(calls, `"{}"`, `"{"`, 1) + `,` + toolA + `,` + toolB), 400, "not valid JSON"},
		"arguments that are no text":      {body(user + `,` + strings.Replace(calls, `"{}"`, `{}`, 1) + `,` + toolA + `,` + toolB), 400, "expected a string"},
		"arguments missing":               {body(user + `,` + strings.Replace(calls, `,"arguments":"{}"`, ``, 1) + `,` + toolA + `,` + toolB), 400, "function.arguments"},
		"call without id":                 {body(user + `,` + strings.Replace(calls, `"id":"a",`, ``, 1) + `,` + toolB), 400, ".id"},
		"ids that repeat":                 {body(user + `,` + strings.Replace(calls, `"id":"b"`, `"id":"a"`, 1) + `,` + toolA), 400, "Duplicate"},
		"call of another type":            {body(user + `,` + strings.Replace(calls, `"type":"function"`, `"type":""`, 1) + `,` + toolA + `,` + toolB), 400, "type"},
		"call of a bad name":              {body(user + `,` + strings.Replace(calls, `"name":"f"`, `"name":"f g"`, 1) + `,` + toolA + `,` + toolB), 400, "pattern"},
		"user with calls":                 {body(strings.Replace(calls, `"role":"assistant","content":""`, `"role":"user","content":"x"`, 1) + `,` + toolA + `,` + toolB), 400, "only allowed"},
		"tool of a bad name":              {body(user, tool(`{"name":"a b"}`)), 400, "pattern"},
		"tool without a name":             {body(user, tool(`{}`)), 400, "pattern"},
		"tool schema is no object":        {body(user, tool(`{"name":"f","parameters":{"type":"string"}}`)), 400, "type"},
		"tool schema is nothing":          {body(user, tool(`{"name":"f","parameters":{}}`)), 400, "type"},
		"tool schema requires the absent": {body(user, tool(`{"name":"f","parameters":{"type":"object","required":["x"]}}`)), 400, "not in 'properties'"},
		"tool twice":                      {body(user, `"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}}]`), 400, "unique"},
		"tool of another type":            {body(user, `"tools":[{"type":"x","function":{"name":"f"}}]`), 400, "Supported values"},
		"tool choice without tools":       {body(user, `"tool_choice":"none"`), 400, "only allowed when"},
		"stream options without a stream": {body(user, `"stream_options":{}`), 400, "only allowed when"},
		"hot":                             {body(user, `"temperature":3`), 400, "out of range"},
		"no tokens at all":                {body(user, `"max_tokens":0`), 400, "minimum"},
		"both limits":                     {body(user, `"max_tokens":1`, `"max_completion_tokens":1`), 400, "same time"},
		"old limit of a reasoning model":  {strings.Replace(body(user, `"max_tokens":5`), `"m"`, `"gpt-5"`, 1), 400, "max_completion_tokens"},
		"warm reasoning model":            {strings.Replace(body(user, `"temperature":0.5`), `"m"`, `"gpt-5"`, 1), 400, "does not support"},
		"image that is none":              {body(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:text/plain;base64,cG5n"}}]}`), 400, "data URL"},
		"image that is not base64":        {body(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,@@"}}]}`), 400, "data URL"},
		"image of a system message":       {body(`{"role":"system","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}`), 400, "role 'user'"},
		"empty text part":                 {body(`{"role":"user","content":[{"type":"text","text":""}]}`), 400, "empty"},
		"no parts":                        {body(`{"role":"user","content":[]}`), 400, "non-empty array"},
		"content of another type":         {body(`{"role":"user","content":7}`), 400, "Invalid type"},
		"unknown part":                    {body(`{"role":"user","content":[{"type":"video"}]}`), 400, "'video'"},
	} {
		t.Run(name, func(t *testing.T) {
			s := fakeopenai.Start(t, fakeopenai.Config{})
			s.Enqueue(fakeopenai.Reply{Text: "not for this one"})
			status, reply, err := post(t, s, row.sent)
			require.NoError(t, err)
			require.Equal(t, row.status, status, reply)
			var fields struct {
				Error struct{ Message, Type string }
			}
			require.NoError(t, json.Unmarshal([]byte(reply), &fields))
			require.Contains(t, fields.Error.Message, row.because)
			require.Equal(t, "invalid_request_error", fields.Error.Type)
			require.Equal(t, []string{fields.Error.Message}, s.Refused())
			require.Equal(t, 1, s.Pending(), "a refused request takes no step")
		})
	}
}

func TestTheKeyAndThePathCount(t *testing.T) {
	s := fakeopenai.Start(t, fakeopenai.Config{Key: "right", Models: []string{"one", "two"}})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, row := range []struct {
		method, path, key string
		status            int
		contains          string
	}{
		{"GET", "/models", "right", 200, `"two"`},
		{"GET", "/models", "wrong", 401, "invalid_api_key"},
		{"POST", "/chat/completions", "wrong", 401, "invalid_api_key"},
		{"POST", "/chat/completions", "", 401, "invalid_api_key"},
		{"POST", "/completions", "right", 404, "unknown_url"},
		{"GET", "/chat/completions", "right", 404, "unknown_url"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), row.method, s.URL()+row.path, strings.NewReader(body(user)))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+row.key)
		resp, err := client.Do(req)
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, row.status, resp.StatusCode, "%s %s: %s", row.method, row.path, text)
		require.Contains(t, string(text), row.contains)
	}
	require.Equal(t, 2, s.Pings())
	require.Equal(t, []string{"wrong key", "wrong key"}, s.Refused())
}

func TestStepsAreTakenInOrderThenTheRuleThenTheEcho(t *testing.T) {
	s := fakeopenai.Start(t, fakeopenai.Config{})
	s.Enqueue(fakeopenai.Reply{Text: "first"}, fakeopenai.Error{Status: 429, Code: "rate_limit_exceeded", Message: "slow down", RetryAfter: 3 * time.Second})
	answer := func(want string) {
		t.Helper()
		_, reply, err := post(t, s, body(user))
		require.NoError(t, err)
		require.Contains(t, reply, want)
	}
	answer(`"first"`)
	answer("slow down")
	answer("echo: hi")
	s.Handle(func(r fakeopenai.Request) fakeopenai.Step {
		if r.LastUser() == "hi" {
			return fakeopenai.Reply{Text: "by rule"}
		}
		return nil
	})
	answer("by rule")
	s.Enqueue(fakeopenai.Raw{Status: 418, ContentType: "text/plain", Body: "teapot"})
	answer("teapot")
	s.Handle(func(fakeopenai.Request) fakeopenai.Step { return nil })
	answer("echo: hi")
	require.Equal(t, 6, s.Count())
	require.NoError(t, s.Wait(t.Context(), 6))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Wait(ctx, 7), context.Canceled)
}

func TestARequestIsDecoded(t *testing.T) {
	s := fakeopenai.Start(t, fakeopenai.Config{})
	_, _, err := post(t, s, body(`{"role":"system","content":"s"},`+user+`,`+calls+`,`+toolA+`,`+toolB,
		`"temperature":0.5`, `"max_tokens":7`, `"tools":[{"type":"function","function":{"name":"f","description":"d"}}]`, `"tool_choice":"none"`))
	require.NoError(t, err)
	r := s.Requests()[0]
	require.Equal(t, "m", r.Model)
	require.Equal(t, "s", r.System())
	require.Equal(t, "hi", r.LastUser())
	require.Len(t, r.ToolResults(), 2)
	require.Equal(t, []fakeopenai.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "b", Name: "f", Arguments: `{"x":1}`}}, r.Messages[2].ToolCalls)
	require.Equal(t, 0.5, *r.Temperature)
	require.Equal(t, 7, r.MaxTokens)
	require.Equal(t, "d", r.Tools[0].Description)
	require.Equal(t, "none", r.ToolChoice)
	require.False(t, r.Stream)
	require.NotEmpty(t, r.Header.Get("Authorization"))
}

func TestAStreamComesInSmallPieces(t *testing.T) {
	s := fakeopenai.Start(t, fakeopenai.Config{TextPiece: 2, ArgsPiece: 3})
	s.Enqueue(fakeopenai.Reply{Text: "世界 wide", Reasoning: "hm?", ToolCalls: []fakeopenai.ToolCall{{Name: "f", Arguments: `{"x":1}`}}})
	_, reply, err := post(t, s, body(user, `"stream":true`, `"stream_options":{"include_usage":true}`))
	require.NoError(t, err)
	require.Contains(t, reply, `"content":"世界"`)
	require.Contains(t, reply, `"content":" w"`)
	require.Contains(t, reply, `"reasoning_content":"hm"`)
	require.Contains(t, reply, `"arguments":"{\"x"`)
	require.Contains(t, reply, `"id":"call_1"`)
	require.Contains(t, reply, `"finish_reason":"tool_calls"`)
	require.Contains(t, reply, `"choices":[]`)
	require.Contains(t, reply, `"total_tokens"`)
	require.True(t, strings.HasSuffix(reply, "data: [DONE]\n\n"))
}

func TestACutStreamBreaks(t *testing.T) {
	s := fakeopenai.Start(t, fakeopenai.Config{})
	s.Enqueue(fakeopenai.CutStream{Reply: fakeopenai.Reply{Text: "never whole"}, AfterChunks: 2})
	_, reply, err := post(t, s, body(user, `"stream":true`))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, 2, strings.Count(reply, "data: "))

	s.Enqueue(fakeopenai.CutStream{Reply: fakeopenai.Reply{Text: "never whole"}, AfterChunks: 2, Clean: true})
	_, reply, err = post(t, s, body(user, `"stream":true`))
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(reply, "data: "))

	s.Enqueue(fakeopenai.CutStream{})
	_, _, err = post(t, s, body(user))
	require.Error(t, err)
}

func TestAHangLastsUntilItIsReleased(t *testing.T) {
	s := fakeopenai.Start(t, fakeopenai.Config{})
	release := make(chan struct{})
	s.Enqueue(fakeopenai.Hang{Release: release}, fakeopenai.Hang{Release: release, AfterChunks: 1, Then: fakeopenai.Reply{Text: "then"}})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			_, reply, err := post(t, s, body(user, `"stream":true`))
			if err != nil || !strings.Contains(reply, "[DONE]") {
				t.Errorf("got %q, %v", reply, err)
			}
		})
	}
	require.NoError(t, s.Wait(t.Context(), 2))
	close(release)
	wg.Wait()
}

func TestCloseReleasesWhatHangs(t *testing.T) {
	s := fakeopenai.New(fakeopenai.Config{})
	s.Enqueue(fakeopenai.Hang{}, fakeopenai.Reply{Latency: time.Hour}, fakeopenai.Reply{Text: "slow", ChunkDelay: time.Hour})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, reply, err := post(t, s, body(user, `"stream":true`)); err == nil && strings.Contains(reply, "[DONE]") {
				t.Error("a hanging reply came to an end")
			}
		})
	}
	require.NoError(t, s.Wait(t.Context(), 3))
	s.Close()
	s.Close()
	wg.Wait()
}

func TestAClientThatLeavesFreesItsHang(t *testing.T) {
	s := fakeopenai.Start(t, fakeopenai.Config{})
	s.Enqueue(fakeopenai.Hang{AfterChunks: 1, Then: fakeopenai.Reply{Text: "x"}})
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/chat/completions", strings.NewReader(body(user, `"stream":true`)))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+s.Key())
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	require.NoError(t, err)
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "data: ")
	cancel()
	require.NoError(t, resp.Body.Close())
}

func TestRequestsMayComeAllAtOnce(t *testing.T) {
	s := fakeopenai.Start(t, fakeopenai.Config{})
	s.Handle(func(r fakeopenai.Request) fakeopenai.Step { return fakeopenai.Reply{Text: "re " + r.LastUser()} })
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			_, reply, err := post(t, s, body(fmt.Sprintf(`{"role":"user","content":"%d."}`, i)))
			if err != nil || !strings.Contains(reply, fmt.Sprintf("re %d.", i)) {
				t.Errorf("got %q, %v", reply, err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 20, s.Count())
}
