package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/cli/api"
	"picobot/internal/home"
)

func serve(t *testing.T, h http.HandlerFunc) *api.Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c := api.New(srv.URL+"/", "tok", srv.Client())
	t.Cleanup(c.Close)
	return c
}

func TestClient_AsksAsTheGatewayExpects(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusCreated)
		}
		_ = json.NewEncoder(w).Encode(map[string]string{
			"said": r.Method + " " + r.URL.EscapedPath() + "?" + r.URL.RawQuery + " " + string(body),
			"auth": r.Header.Get("Authorization"), "type": r.Header.Get("Content-Type"),
		})
	})
	var got map[string]string
	require.NoError(t, c.Get(t.Context(), api.Path("jobs", "a/b é"), url.Values{"q": {"x y"}}, &got))
	require.Equal(t, map[string]string{"said": "GET /api/v1/jobs/a%2Fb%20%C3%A9?q=x+y ", "auth": "Bearer tok", "type": ""}, got)
	created, err := c.Put(t.Context(), api.Path("jobs"), nil, json.RawMessage(`{"a":1}`), &got)
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, map[string]string{"said": `PUT /api/v1/jobs? {"a":1}`, "auth": "Bearer tok", "type": "application/json"}, got)
	require.NoError(t, c.Post(t.Context(), api.Path("jobs"), nil, nil, nil))
	require.NoError(t, c.Delete(t.Context(), api.Path("jobs"), nil))
}

func TestClient_Refusal_IsAnErrorWithItsReason(t *testing.T) {
	for answer, want := range map[string]api.Error{
		`404 {"error":{"code":"not_found","message":"there is no job x"}}`: {Status: 404, Code: "not_found", Message: "there is no job x"},
		`502 <html>`: {Status: 502, Message: "the gateway answered with HTTP 502 and no reason: see its log"},
	} {
		var status int
		var body string
		_, err := fmt.Sscanf(answer, "%d", &status)
		require.NoError(t, err)
		body = answer[4:]
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		})
		err = c.Get(t.Context(), "/", nil, nil)
		got, ok := errors.AsType[*api.Error](err)
		require.True(t, ok)
		require.Equal(t, want, *got)
	}
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	require.ErrorContains(t, c.Get(t.Context(), "/", nil, nil), "refuses the token")
	c = serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) })
	require.ErrorContains(t, c.Get(t.Context(), "/", nil, new(int)), "read the gateway's answer")
}

func TestList_ReadsAllPagesUpToTheLimit(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		pages := map[string]string{"": `{"items":[1,2],"next":"b"}`, "b": `{"items":[3],"next":"c"}`, "c": `{"items":[4],"next":""}`}
		if r.URL.Query().Get("loop") != "" {
			pages["b"] = `{"items":[3],"next":"b"}`
		}
		_, _ = w.Write([]byte(pages[r.URL.Query().Get("cursor")]))
	})
	query := url.Values{"limit": {"2"}}
	all, err := api.List[int](t.Context(), c, "/", query, "cursor", 0)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3, 4}, all)
	require.Equal(t, url.Values{"limit": {"2"}}, query, "the caller's query is left alone")
	some, err := api.List[int](t.Context(), c, "/", nil, "cursor", 3)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3}, some)
	first, err := api.List[int](t.Context(), c, "/", nil, "", 0)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, first)
	_, err = api.List[int](t.Context(), c, "/", url.Values{"loop": {"1"}}, "cursor", 0)
	require.ErrorContains(t, err, "does not end")
}

func TestConnect_NoGateway_SaysSoAndMakesNothing(t *testing.T) {
	h, err := home.At(t.TempDir())
	require.NoError(t, err)
	_, err = api.Connect(t.Context(), api.Options{Home: h, Addr: "127.0.0.1:0", Token: func() (string, error) { return "", errors.New("must not be asked") }})
	require.ErrorIs(t, err, api.ErrNoGateway)
}

func TestConnect_RunningGateway_IsAskedWithItsToken(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"status": "ok", "auth": r.Header.Get("Authorization")})
	}))
	t.Cleanup(srv.Close)
	h, err := home.Open(t.TempDir())
	require.NoError(t, err)
	lock, err := h.Lock(home.Owner{Address: srv.Listener.Addr().String()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = lock.Unlock() })
	c, err := api.Connect(t.Context(), api.Options{Home: h, Addr: "127.0.0.1:0", Token: func() (string, error) { return "secret", nil }})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	var got struct{ Auth string }
	require.NoError(t, c.Get(t.Context(), api.Path("x"), nil, &got))
	require.Equal(t, "Bearer secret", got.Auth)
}

// Another home's gateway has the default address: it is not this home's.
func TestConnect_GatewayOfAnotherHome_IsNone(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"status":"ok"}`))
	}))
	t.Cleanup(srv.Close)
	h, err := home.At(t.TempDir())
	require.NoError(t, err)
	for _, token := range []func() (string, error){
		func() (string, error) { return "mine", nil },
		func() (string, error) { return "", errors.New("there is no token") },
	} {
		_, err = api.Connect(t.Context(), api.Options{Home: h, Addr: srv.Listener.Addr().String(), Token: token})
		require.ErrorIs(t, err, api.ErrNoGateway)
	}
}
