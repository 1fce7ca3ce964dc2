package openai_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/llm"
	"picobot/internal/llm/openai"
	"picobot/internal/testkit/fakeopenai"
)

func TestPingFindsOutWhatIsWrong(t *testing.T) {
	json := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, row := range map[string]struct {
		models, completions http.HandlerFunc
		kind                llm.Kind
	}{
		"all is well":                       {models: json(200, `{"data":[]}`)},
		"a key that is refused":             {models: json(401, `{"error":{"message":"no"}}`), kind: llm.KindAuth},
		"a server in trouble":               {models: json(503, ""), kind: llm.KindOverloaded},
		"a web page":                        {models: json(200, "<html>"), kind: llm.KindBadRequest},
		"an error with status 200":          {models: json(200, `{"error":{"code":401,"message":"no"}}`), kind: llm.KindAuth},
		"no list of models":                 {completions: json(400, `{"error":"messages required"}`)},
		"no list of models, not JSON":       {completions: json(422, "no body")},
		"no list of models, refused key":    {completions: json(401, ""), kind: llm.KindAuth},
		"no list of models, unknown model":  {completions: json(404, `{"error":{"message":"model '' not found"}}`)},
		"an address that leads nowhere":     {kind: llm.KindNotFound},
		"no list of models, answers anyway": {completions: json(200, `{}`)},
	} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			if row.models != nil {
				mux.HandleFunc("GET /v1/models", row.models)
			}
			if row.completions != nil {
				mux.HandleFunc("POST /v1/chat/completions", row.completions)
			}
			server := httptest.NewServer(mux)
			defer server.Close()
			require.Equal(t, row.kind, llm.KindOf(connect(t)(server.URL+"/v1").Ping(t.Context())))
		})
	}
}

func TestPingOfTheFake(t *testing.T) {
	server := fakeopenai.Start(t, fakeopenai.Config{NoModels: true})
	require.NoError(t, connect(t)(server.URL()).Ping(t.Context()))
	wrong := openai.New(openai.Config{Name: "p", BaseURL: server.URL(), APIKey: "wrong"})
	t.Cleanup(wrong.Close)
	require.Equal(t, llm.KindAuth, llm.KindOf(wrong.Ping(t.Context())))
	bad := openai.New(openai.Config{Name: "p", BaseURL: "http://bad host/v1"})
	require.Equal(t, llm.KindBadRequest, llm.KindOf(bad.Ping(t.Context())))
}
