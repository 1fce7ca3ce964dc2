package openai_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/llm"
	"picobot/internal/testkit/fakeopenai"
)

// The most frequent mistake in a configuration, and servers answer it with a bare
// 404 or with their web page.
func TestABaseURLWithoutItsVersion_IsWhatTheErrorSpeaksOf(t *testing.T) {
	const hint = "OpenAI-style base URLs end in /v1, and base_url does not"
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, row := range map[string]struct {
		path   string
		answer http.HandlerFunc
		kind   llm.Kind
		hinted bool
	}{
		"Ollama's 404":                     {"", answer(404, "404 page not found"), llm.KindNotFound, true},
		"OpenAI's 404":                     {"", answer(404, `{"error":{"message":"Invalid URL (POST /chat/completions)","type":"invalid_request_error"}}`), llm.KindNotFound, true},
		"a web page":                       {"/api", answer(200, "<!doctype html>"), llm.KindBadRequest, true},
		"a model that is not there":        {"", answer(404, `{"error":{"message":"The model x does not exist","code":"model_not_found"}}`), llm.KindNotFound, false},
		"an address with its version":      {"/v1", answer(404, "404 page not found"), llm.KindNotFound, false},
		"another version":                  {"/api/paas/v4", answer(404, "404 page not found"), llm.KindNotFound, false},
		"Google's version":                 {"/v1beta", answer(404, "404 page not found"), llm.KindNotFound, false},
		"another error of a wrong address": {"", answer(500, "boom"), llm.KindServer, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(row.answer)
			defer server.Close()
			p := connect(t)(server.URL + row.path)
			_, err := p.Complete(t.Context(), ask("hi"), nil)
			ping := p.Ping(t.Context())
			if name == "a model that is not there" {
				require.NoError(t, ping, "the empty model of a ping is nowhere")
				ping = err
			}
			for what, err := range map[string]error{"call": err, "ping": ping} {
				require.Equal(t, row.kind, typed(t, err).Kind, what)
				if row.hinted {
					require.ErrorContains(t, err, hint, what)
				} else {
					require.NotContains(t, err.Error(), hint, what)
				}
			}
		})
	}
}

func TestTheIDOfARequestIsInItsError(t *testing.T) {
	_, err := serve(t, fakeopenai.Config{}, fakeopenai.Error{Status: 500, Message: "boom", Header: http.Header{"X-Request-Id": {"req_123"}}}, ask("hi"))
	require.Equal(t, "boom (request req_123)", typed(t, err).Message)
}
