package openai_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"picobot/internal/llm"
	"picobot/internal/llm/openai"
	"picobot/internal/testkit/fakeopenai"
)

func typed(t *testing.T, err error) *llm.Error {
	t.Helper()
	e, ok := errors.AsType[*llm.Error](err)
	require.True(t, ok, "%v is no *llm.Error", err)
	return e
}

func TestErrorsAreClassifiedByStatusAndByWhatTheySay(t *testing.T) {
	for name, row := range map[string]struct {
		status  int
		body    string
		kind    llm.Kind
		message string
	}{
		"quota as 429":                       {429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, llm.KindQuota, "You exceeded your current quota"},
		"quota by its type only":             {429, `{"error":{"message":"x","type":"exceeded_current_quota_error"}}`, llm.KindQuota, "x"},
		"rate limit":                         {429, `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`, llm.KindRateLimited, "slow down"},
		"context by its code":                {400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`, llm.KindContextTooLarge, "too long"},
		"context by its words":               {400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}`, llm.KindContextTooLarge, "maximum context length"},
		"context of llama.cpp":               {400, `{"error":{"code":400,"message":"the request exceeds the available size","type":"exceed_context_size_error","n_ctx":512}}`, llm.KindContextTooLarge, "exceeds"},
		"content filter":                     {400, `{"error":{"message":"filtered","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llm.KindContentFiltered, "filtered"},
		"content filter by inner code":       {400, `{"error":{"message":"filtered","code":null,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llm.KindContentFiltered, "filtered"},
		"error as a string":                  {400, `{"error":"model is required"}`, llm.KindBadRequest, "model is required"},
		"error in a list":                    {400, `[{"error":{"code":400,"message":"bad key","status":"INVALID_ARGUMENT"}}]`, llm.KindBadRequest, "bad key"},
		"detail as a string":                 {422, `{"detail":"not so"}`, llm.KindBadRequest, "not so"},
		"detail as a list":                   {422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, llm.KindBadRequest, "field required"},
		"msg":                                {500, `{"code":"E1","msg":"boom"}`, llm.KindServer, "boom"},
		"message as a list":                  {400, `{"error":{"message":["a","b"]}}`, llm.KindBadRequest, `["a","b"]`},
		"plain text":                         {404, "404 page not found", llm.KindNotFound, "404 page not found"},
		"a web page":                         {502, "<html><body>Bad gateway " + strings.Repeat("x", 9000) + "</body></html>", llm.KindServer, "the endpoint sent a web page instead of an answer"},
		"nothing":                            {503, "", llm.KindOverloaded, "Service Unavailable"},
		"broken JSON":                        {500, `{"error":{"mess`, llm.KindServer, `{"error":{"mess`},
		"an overloaded server":               {529, `{"error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.KindOverloaded, "Overloaded"},
		"a redirect":                         {307, "", llm.KindBadRequest, "set base_url to its real address"},
		"unknown model":                      {404, `{"error":{"message":"no such model","code":"model_not_found"}}`, llm.KindNotFound, "no such model"},
		"a server error is no request error": {500, `{"error":{"message":"context window","type":"server_error"}}`, llm.KindServer, "context window"},
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, req llm.Request) {
				raw := fakeopenai.Raw{Status: row.status, Body: row.body, Header: http.Header{"Location": {"/elsewhere"}}}
				_, err := serve(t, fakeopenai.Config{}, raw, req)
				e := typed(t, err)
				require.Equal(t, row.kind, e.Kind, e.Error())
				require.Equal(t, row.status, e.Status)
				require.Contains(t, e.Message, row.message)
				require.LessOrEqual(t, len(e.Message), 512)
			})
		})
	}
}

func TestErrorsInsideASuccess(t *testing.T) {
	for name, row := range map[string]struct {
		body    string
		kind    llm.Kind
		status  int
		message string
	}{
		"OpenRouter's":              {`{"error":{"code":429,"message":"rate limited upstream","metadata":{}}}`, llm.KindRateLimited, 429, "rate limited upstream"},
		"a code as text":            {`{"error":{"code":"503","message":"no capacity"}}`, llm.KindOverloaded, 503, "no capacity"},
		"a word as code":            {`{"error":{"code":"insufficient_quota","message":"pay"}}`, llm.KindQuota, 0, "pay"},
		"a type":                    {`{"error":{"type":"overloaded_error","message":"later"}}`, llm.KindOverloaded, 0, "later"},
		"bad request":               {`{"error":{"type":"invalid_request_error","message":"maximum context length is 10"}}`, llm.KindContextTooLarge, 0, "maximum"},
		"code and message":          {`{"code":"InvalidParameter","message":"no"}`, llm.KindServer, 0, "no"},
		"a string":                  {`{"error":"it broke"}`, llm.KindServer, 0, "it broke"},
		"an error without a word":   {`{"error":{"code":500}}`, llm.KindServer, 500, "without a message"},
		"an error of unknown shape": {`{"error":[1]}`, llm.KindServer, 0, "[1]"},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(t *testing.T, raw fakeopenai.Raw, req llm.Request) {
				got, err := serve(t, fakeopenai.Config{}, raw, req)
				e := typed(t, err)
				require.Equal(t, row.kind, e.Kind, e.Error())
				require.Equal(t, row.status, e.Status)
				require.Contains(t, e.Message, row.message)
				require.Zero(t, got.Content)
			}
			eachWay(t, func(t *testing.T, req llm.Request) { check(t, fakeopenai.Raw{Body: row.body}, req) })
			t.Run("in the middle of a stream", func(t *testing.T) {
				check(t, events(text("half"), ": keepalive\n\n", "data: "+row.body+"\n\n"), ask("hi"))
			})
			t.Run("in the stream without the field name", func(t *testing.T) {
				check(t, events(text("half"), row.body+"\n"), ask("hi"))
			})
			t.Run("after the finish reason", func(t *testing.T) {
				check(t, events(text("half"), finish, "data: "+row.body+"\n\n"), ask("hi"))
			})
		})
	}
	t.Run("an event named error", func(t *testing.T) {
		_, err := serve(t, fakeopenai.Config{}, events(text("half"), "event: error\ndata: {\"message\":\"gone\"}\n\n"), ask("hi"))
		require.Equal(t, "gone", typed(t, err).Message)
	})
}

func TestAnswersThatAreNone(t *testing.T) {
	for name, row := range map[string]struct {
		raw  fakeopenai.Raw
		kind llm.Kind
	}{
		"empty":                      {fakeopenai.Raw{}, llm.KindIncomplete},
		"white space":                {fakeopenai.Raw{Body: " \n "}, llm.KindIncomplete},
		"a web page":                 {fakeopenai.Raw{ContentType: "text/html; charset=utf-8", Body: "<!doctype html>"}, llm.KindBadRequest},
		"a web page in disguise":     {fakeopenai.Raw{Body: "\n<html>"}, llm.KindBadRequest},
		"no choices":                 {fakeopenai.Raw{Body: `{"choices":[]}`}, llm.KindServer},
		"an empty object":            {fakeopenai.Raw{Body: `{}`}, llm.KindServer},
		"broken JSON":                {fakeopenai.Raw{Body: `{"choices":[{"mess`}, llm.KindServer},
		"a list":                     {fakeopenai.Raw{Body: `[]`}, llm.KindServer},
		"choices of another type":    {fakeopenai.Raw{Body: `{"choices":"none"}`}, llm.KindServer},
		"a call without a name":      {fakeopenai.Raw{Body: `{"choices":[{"message":{"tool_calls":[{"id":"x","function":{"arguments":"{}"}}]},"finish_reason":"stop"}]}`}, llm.KindServer},
		"larger than can be":         {fakeopenai.Raw{Body: `{"choices":[{"message":{"content":"` + strings.Repeat("x", 33<<20) + `"}}]}`}, llm.KindServer},
		"no JSON at all, unbraced":   {fakeopenai.Raw{Body: `nothing`}, ""},
		"a stream with a broken one": {events(text("a"), "data: {\"choices\n\n", finish), ""},
		"a stream of only [DONE]":    {events("data: [DONE]\n\n"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, req llm.Request) {
				got, err := serve(t, fakeopenai.Config{}, row.raw, req)
				e := typed(t, err)
				if row.kind != "" {
					require.Equal(t, row.kind, e.Kind, e.Error())
				}
				require.NotEmpty(t, e.Message)
				require.Zero(t, got.Content)
			})
		})
	}
}

func TestRunawayStreamsEnd(t *testing.T) {
	calls := `data: {"choices":[{"delta":{"tool_calls":[{"id":"%","function":{"name":"f","arguments":"{}"}}]}}]}` + "\n\n"
	many := ""
	for i := range 600 {
		many += strings.Replace(calls, "%", "id"+string(rune('a'+i%26))+strings.Repeat("x", i), 1)
	}
	for name, raw := range map[string]fakeopenai.Raw{
		"too many calls": events(many, finish),
		"one long line":  events("data: {\"x\":\"" + strings.Repeat("x", 33<<20)),
		"one long event": events(strings.Repeat("data: [\n", 1000)),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := serve(t, fakeopenai.Config{}, raw, ask("hi"))
			require.Equal(t, llm.KindServer, typed(t, err).Kind)
		})
	}
}

func TestRetryAfterIsReadInAllItsForms(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, row := range map[string]struct {
		header http.Header
		want   time.Duration
	}{
		"seconds":             {http.Header{"Retry-After": {"20"}}, 20 * time.Second},
		"fractions":           {http.Header{"Retry-After": {"0.5"}}, 500 * time.Millisecond},
		"milliseconds first":  {http.Header{"Retry-After": {"20"}, "Retry-After-Ms": {"1500"}}, 1500 * time.Millisecond},
		"a date":              {http.Header{"Retry-After": {"Fri, 01 May 2026 12:01:30 GMT"}}, 90 * time.Second},
		"a past date":         {http.Header{"Retry-After": {"Fri, 01 May 2026 11:00:00 GMT"}}, 0},
		"negative":            {http.Header{"Retry-After": {"-5"}}, 0},
		"beyond all measure":  {http.Header{"Retry-After": {"1e300"}}, 24 * time.Hour},
		"a date years ahead":  {http.Header{"Retry-After": {"Fri, 01 May 2099 12:00:00 GMT"}}, 24 * time.Hour},
		"not a number at all": {http.Header{"Retry-After": {"NaN"}}, 0},
		"nonsense":            {http.Header{"Retry-After": {"soon"}}, 0},
		"nothing":             {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := fakeopenai.Start(t, fakeopenai.Config{})
			p := openai.New(openai.Config{Name: "p", BaseURL: server.URL(), APIKey: server.Key(), Now: func() time.Time { return now }})
			t.Cleanup(p.Close)
			eachWay(t, func(t *testing.T, req llm.Request) {
				server.Enqueue(fakeopenai.Error{Status: 429, Header: row.header})
				_, err := p.Complete(t.Context(), req, nil)
				require.Equal(t, row.want, typed(t, err).RetryAfter)
			})
		})
	}
}

func TestSecretsNeverReachAnError(t *testing.T) {
	server := fakeopenai.Start(t, fakeopenai.Config{Key: "sk-very-secret-key"})
	p := openai.New(openai.Config{Name: "p", BaseURL: server.URL(), APIKey: server.Key(), Headers: map[string]string{"X-Auth": "Token header-secret"}})
	t.Cleanup(p.Close)
	for _, step := range []fakeopenai.Step{
		fakeopenai.Error{Status: 401, Message: "bad key sk-very-secret-key, header Token header-secret"},
		fakeopenai.Error{Status: 400, Message: "header-secret"},
		fakeopenai.Raw{Status: 500, ContentType: "text/plain", Body: "sk-very-secret-key"},
		fakeopenai.Raw{Body: `{"error":{"message":"sk-very-secret-key"}}`},
		fakeopenai.Error{Status: 500, Message: strings.Repeat("x", 500) + "sk-very-secret-key"}, // across the cut
	} {
		server.Enqueue(step)
		_, err := p.Complete(t.Context(), ask("hi"), nil)
		require.Error(t, err)
		for e := err; e != nil; e = errors.Unwrap(e) {
			require.NotContains(t, e.Error(), "secret")
			require.NotContains(t, e.Error(), "sk-very")
		}
	}
}

func TestAnAddressWithASecretNeverReachesAnError(t *testing.T) {
	p := openai.New(openai.Config{Name: "p", BaseURL: "http://user:hush-hush@127.0.0.1:1/v1?key=hush-hush"})
	t.Cleanup(p.Close)
	_, err := p.Complete(t.Context(), ask("hi"), nil)
	require.Equal(t, llm.KindTransport, llm.KindOf(err))
	for e := err; e != nil; e = errors.Unwrap(e) {
		require.NotContains(t, e.Error(), "hush")
	}
}

func TestLongMessagesAreCutBetweenRunes(t *testing.T) {
	for _, said := range []string{strings.Repeat("界", 400), strings.Repeat("ab界", 200), strings.Repeat("\xff", 600)} {
		_, err := serve(t, fakeopenai.Config{}, fakeopenai.Raw{Status: 500, ContentType: "text/plain", Body: said}, ask("hi"))
		message := typed(t, err).Message
		require.LessOrEqual(t, len(message), 512)
		require.True(t, utf8.ValidString(message))
	}
}
