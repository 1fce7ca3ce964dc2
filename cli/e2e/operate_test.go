package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"picobot/internal/flow"
	"picobot/internal/protocol"
	"picobot/internal/testkit/harness"
)

// telltale is an endpoint that refuses every request and repeats all of it in the reason,
// as careless proxies do.
func telltale(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		basic, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.Header.Get("Authorization"), "Basic "))
		answer, _ := json.Marshal(map[string]any{"error": map[string]any{
			"type": "invalid_request_error", "message": fmt.Sprintf("%s %s %s %v %.2000s", basic, r.Host, r.URL, r.Header, body),
		}})
		w.Header().Set("Content-Type", "application/json")
		status := http.StatusBadRequest
		if strings.Contains(string(body), "unauthorized") {
			status = http.StatusUnauthorized
		}
		w.WriteHeader(status)
		_, _ = w.Write(answer)
	}))
	t.Cleanup(s.Close)
	return s
}

// Each place of the configuration and the environment that takes a secret has one; none
// of them may be where people, logs, Temporal or programs look.
func TestSecrets_OfEveryPlace_AreSeenNowhere(t *testing.T) {
	h, s := harness.New(t), telltale(t)
	var all []string
	secret := func(name string) string {
		all = append(all, "hush-"+name+"-0123456789")
		return all[len(all)-1]
	}
	at := func(path, name string) string {
		return strings.Replace(s.URL, "://", "://user:"+secret(name)+"@", 1) + path
	}
	h.Configure(object{
		"providers": object{
			"p": object{"type": "openai", "base_url": at("/v1", "url"), "api_key": secret("openai"),
				"headers": object{"X-Auth-Thing": secret("header"), "Authorization": "Bearer " + secret("bearer")}},
			"q": object{"type": "anthropic", "base_url": s.URL, "api_key": "${ANTHROPICS}"},
		},
		"models": object{
			"m": object{"provider": "p", "model": "m1", "extra": object{"api_key": secret("extra"), "deep": []object{{"password": secret("deep")}}}},
			"n": object{"provider": "q", "model": "n1"},
		},
		"agents":  object{"default": object{"model": "m", "fallback_models": []string{"n"}}},
		"gateway": object{"addr": "127.0.0.1:0", "token": secret("gateway")},
		"temporal": object{
			"address": "127.0.0.1:0", "ui_addr": "127.0.0.1:0", "api_key": secret("temporal"),
		},
		"channels": object{"feishu": object{"enabled": true, "app_id": "cli_x", "app_secret": secret("feishu"), "domain": at("", "domain"), "allow_from": []string{"*"}}},
	})
	h.Env["ANTHROPICS"] = secret("anthropic")
	h.Env["OTEL_EXPORTER_OTLP_ENDPOINT"], h.Env["OTEL_EXPORTER_OTLP_HEADERS"] = s.URL, "authorization=Bearer%20"+secret("collector")
	log := filepath.Join(t.TempDir(), "picobot.log")
	g := h.StartGateway("--log-file", log, "--log-level", "debug")

	var seen strings.Builder
	see := func(what, text string) { fmt.Fprintf(&seen, "\n## %s\n%s\n", what, text) }
	run := func(line ...string) harness.Result {
		r := h.Run(line...)
		see(strings.Join(line, " "), r.Stdout+r.Stderr)
		return r
	}
	for _, message := range []string{"hello", "unauthorized", "/info"} {
		if r := run("agent", "-m", message); message == "hello" && (r.Code != 1 || !strings.Contains(r.Stderr, "***")) {
			t.Errorf("the endpoint's reason is told, masked: %+v", r)
		}
	}
	for _, line := range []string{"config show", "config check", "doctor", "doctor --json", "jobs list --json", "turns list --json", "sessions list --json", "version"} {
		run(strings.Split(line, " ")...)
	}
	for _, turn := range h.Record(`SELECT id FROM turns`) {
		run("turns", "show", turn)
		run("turns", "show", turn, "--json")
	}
	for _, path := range []string{"/health", "/metrics", "/api/v1/sessions", "/api/v1/turns", "/api/v1/jobs", "/api/v1/skills", "/api/v1/memories", "/api/v1/openapi.json"} {
		status, body := ask(t, g, path, "hush-gateway-0123456789")
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, body)
		}
		see(path, body)
	}
	r := g.Stop()
	see("the gateway", r.Stdout+r.Stderr)
	for _, file := range []string{"gateway.token", "temporal.key"} { // of the home's own secrets, too
		if text, err := os.ReadFile(filepath.Join(h.Home, file)); err == nil {
			all = append(all, strings.TrimSpace(string(text)))
		}
	}
	files := 0
	for _, root := range []string{h.Home, log} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, ".token") || strings.HasSuffix(path, "temporal.key") {
				return err
			}
			text, err := os.ReadFile(path)
			see(path, string(text))
			files++
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 5 || !strings.Contains(seen.String(), "level=DEBUG") {
		t.Errorf("looked at %d files", files)
	}
	for part := range strings.SplitSeq(seen.String(), "\n## ") {
		for _, s := range all {
			if i := strings.Index(part, s); i >= 0 {
				name, _, _ := strings.Cut(part, "\n")
				t.Errorf("%s is in %s: …%q", s, name, part[max(0, i-100):min(len(part), i+60)])
			}
		}
	}
}

// ask reads a path of the gateway.
func ask(t *testing.T, g *harness.Gateway, path, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// A service has its variables in its unit file; who talks to it from a shell has not.
func TestClients_BesideAService_NeedNoneOfItsVariables(t *testing.T) {
	h := harness.New(t)
	h.Configure(object{
		"providers": object{"offline": object{"type": "offline"}, "p": object{"api_key": "${SERVICE_KEY}"}},
		"models":    object{"offline": object{"provider": "offline"}, "m": object{"provider": "p"}},
		"agents":    object{"default": object{"model": "offline"}},
	})
	h.Env["SERVICE_KEY"] = "the-key-of-the-service"
	g := h.StartGateway()
	delete(h.Env, "SERVICE_KEY")
	if r := h.Run("agent", "-m", "calc 6*7"); r.Code != 0 || r.Stdout != "calculator: 42\n" {
		t.Errorf("%+v", r)
	}
	for _, line := range []string{"jobs list", "turns list", "sessions list", "memory list", "skills list", "backup " + filepath.Join(t.TempDir(), "b.tar.gz")} {
		if r := h.Run(strings.Split(line, " ")...); r.Code != 0 {
			t.Errorf("%s: %+v", line, r)
		}
	}
	g.Stop()
	// With nobody to talk to, agent would have to be the gateway.
	if r := h.Run("agent", "-m", "calc 6*7"); r.Code != 1 || !strings.Contains(r.Stderr, "providers.p.api_key: environment variable SERVICE_KEY is not set") {
		t.Errorf("%+v", r)
	}
}

// Whatever names a page of Temporal's UI names a run that is there.
func TestLinks_LeadToRunsThatAreThere(t *testing.T) {
	h := harness.New(t)
	g := h.StartGateway()
	chat := "a b/ü:%" // what a chat may be called
	ws := g.WS(t)
	w := ws.Hello(protocol.Hello{ClientID: chat})
	info := func(id string) string {
		ws.Write(protocol.UserMessage{ID: id, Content: "/info"})
		return harness.Expect(ws, "the answer", func(c protocol.Command) bool { return c.ID == id }).Text
	}
	pages := regexp.MustCompile(`https?://\S+/namespaces/\S+`)
	if got := pages.FindString(info("i1")); got != "" {
		t.Errorf("nothing ran yet, and /info names %s", got)
	}
	turn := ws.Send("m1", "every 1h say hi")
	ws.End(turn.TurnID)
	job := h.Record(`SELECT id FROM scheduler_jobs WHERE source = 'agent'`)[0]
	if r := h.Run("jobs", "run", job); r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	h.Eventually("the run ends", func() bool { return len(h.Record(`SELECT 1 FROM job_runs WHERE status = 'completed'`)) == 1 })
	key, err := os.ReadFile(filepath.Join(h.Home, "temporal.key"))
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"/info":         info("i2"),
		"sessions show": h.Run("sessions", "show", w.SessionID).Stdout,
		"turns show":    h.Run("turns", "show", turn.TurnID).Stdout,
		"jobs runs":     h.Run("jobs", "runs", job).Stdout,
	} {
		page := pages.FindString(text)
		parts := regexp.MustCompile(`^(http://[^/]+)/namespaces/([^/]+)/workflows/([^/]+)/([^/]+)/history$`).FindStringSubmatch(page)
		if parts == nil {
			t.Errorf("%s names no page of a run: %s", what, text)
			continue
		}
		// The UI's pages fetch what they show from its API, under the same names.
		for _, at := range []string{page, parts[1] + "/api/v1/namespaces/" + parts[2] + "/workflows/" + parts[3] + "?execution.runId=" + url.QueryEscape(parts[4])} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.SetBasicAuth("me", strings.TrimSpace(string(key)))
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %s: %d %s", what, at, resp.StatusCode, body)
			}
			if workflow, _ := url.PathUnescape(parts[3]); at != page && !strings.Contains(string(body), `"runId":"`+parts[4]+`"`) && !strings.Contains(string(body), parts[4]) {
				t.Errorf("%s: %s is not about %s: %s", what, at, workflow, body)
			}
		}
		if workflow, _ := url.PathUnescape(parts[3]); strings.HasPrefix(workflow, "session/") && workflow != flow.SessionWorkflowID(w.SessionID) {
			t.Errorf("%s names %s", what, workflow)
		}
	}
}
