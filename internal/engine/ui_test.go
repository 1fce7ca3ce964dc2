package engine

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
)

func testUI(t *testing.T, s *Server) {
	get := func(t *testing.T, path string, change func(*http.Request)) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.UIURL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(r)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	withBearer := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+testKey) }
	const namespaces = "/api/v1/namespaces"

	t.Run("its pages are free", func(t *testing.T) {
		for _, path := range []string{"/", "/namespaces/default/workflows", "/healthz"} {
			if code, body := get(t, path, nil); code != http.StatusOK || body == "" {
				t.Errorf("%s: %d %s", path, code, body)
			}
		}
	})
	t.Run("its API wants the key", func(t *testing.T) {
		for name, change := range map[string]func(*http.Request){
			"none":         nil,
			"wrong bearer": func(r *http.Request) { r.Header.Set("Authorization", "Bearer wrong") },
			"wrong basic":  func(r *http.Request) { r.SetBasicAuth("picobot", "wrong") },
			"wrong cookie": func(r *http.Request) { r.AddCookie(&http.Cookie{Name: keyCookie, Value: testKeyCookie("wrong")}) },
		} {
			if code, _ := get(t, namespaces, change); code != http.StatusUnauthorized {
				t.Errorf("%s: %d", name, code)
			}
		}
		for name, change := range map[string]func(*http.Request){
			"bearer": withBearer,
			"basic":  func(r *http.Request) { r.SetBasicAuth("picobot", testKey) },
			"cookie": func(r *http.Request) { r.AddCookie(&http.Cookie{Name: keyCookie, Value: testKeyCookie(testKey)}) },
		} {
			if code, body := get(t, namespaces, change); code != http.StatusOK || !strings.Contains(body, `"default"`) {
				t.Errorf("%s: %d %s", name, code, body)
			}
		}
	})
	t.Run("every API path wants the key", func(t *testing.T) {
		for _, path := range []string{
			"/api/v1/settings", "/api/v1/cluster-info", "/api/v1/namespaces/default/workflows",
			"/api/v1/namespaces/default/workflows/x/run/y/history.json", "//api/v1/namespaces", "/./api/v1/namespaces", "/%61pi/v1/namespaces",
		} {
			if code, body := get(t, path, nil); code == http.StatusOK && strings.Contains(body, `{`) && !strings.Contains(body, "<html") {
				t.Errorf("%s: %d %s", path, code, body)
			}
		}
	})
	t.Run("the login link lets a browser in", func(t *testing.T) {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		browser := &http.Client{Jar: jar}
		for _, url := range []string{s.UILoginURL(), s.UIURL() + namespaces} {
			resp, err := browser.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK || strings.Contains(resp.Request.URL.String(), "key=") {
				t.Errorf("%s: %d", resp.Request.URL, resp.StatusCode)
			}
		}
	})
	t.Run("foreign names and pages are refused", func(t *testing.T) {
		for name, change := range map[string]func(*http.Request){
			"host":   func(r *http.Request) { withBearer(r); r.Host = "evil.example" },
			"origin": func(r *http.Request) { withBearer(r); r.Header.Set("Origin", "http://evil.example") },
			"null":   func(r *http.Request) { withBearer(r); r.Header.Set("Origin", "null") },
		} {
			if code, _ := get(t, namespaces, change); code != http.StatusForbidden {
				t.Errorf("%s: %d", name, code)
			}
		}
		own := func(r *http.Request) { withBearer(r); r.Header.Set("Origin", s.UIURL()) }
		if code, _ := get(t, namespaces, own); code != http.StatusOK {
			t.Errorf("its own origin: %d", code)
		}
	})
	t.Run("a finished workflow's history can be downloaded", func(t *testing.T) {
		c := connect(t, s)
		run, err := c.ExecuteWorkflow(t.Context(), startOptions("history"), turnWorkflow, "hi")
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Get(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		code, body := get(t, "/api/v1/namespaces/default/workflows/history/run/"+run.GetRunID()+"/history.json", withBearer)
		if code != http.StatusOK || !strings.Contains(body, "event_id") {
			t.Errorf("%d %.200s", code, body)
		}
	})
	t.Run("a browser that is let in can act", func(t *testing.T) {
		c := connect(t, s)
		startWait(t, c, "to be stopped")
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		browser := &http.Client{Jar: jar}
		resp, err := browser.Get(s.UILoginURL())
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		post := func(token string) int {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
				s.UIURL()+"/api/v1/namespaces/default/workflows/to%20be%20stopped/terminate",
				strings.NewReader(`{"reason":"test"}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Origin", s.UIURL())
			r.Header.Set("X-CSRF-Token", token)
			resp, err := browser.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			return resp.StatusCode
		}
		token := ""
		for _, cookie := range jar.Cookies(resp.Request.URL) {
			if cookie.Name == "_csrf" {
				token = cookie.Value
			}
		}
		if code := post("wrong"); code != http.StatusForbidden {
			t.Errorf("with a wrong token: %d", code)
		}
		if code := post(token); code != http.StatusOK {
			t.Errorf("with the token: %d", code)
		}
		if err := c.GetWorkflow(t.Context(), "to be stopped", "").Get(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "terminated") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("it does not look for news", func(t *testing.T) {
		code, body := get(t, "/api/v1/releases", withBearer)
		if code != http.StatusOK || !strings.Contains(body, `{}`) {
			t.Errorf("%d %s", code, body)
		}
		code, body = get(t, "/api/v1/settings", withBearer)
		if code != http.StatusOK || !strings.Contains(body, `"DisableNewsFetch":true`) || !strings.Contains(body, `"NotifyOnNewVersion":false`) {
			t.Errorf("%d %s", code, body)
		}
	})
}

func testKeyCookie(key string) string { return uiGuard{key: key}.cookie() }
