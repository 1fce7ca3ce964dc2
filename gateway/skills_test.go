package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/skills"
)

func (r *rig) post(path, body string) (int, string) {
	r.t.Helper()
	status, answer, _ := r.do(http.MethodPost, path, func(req *http.Request) {
		req.Body = io.NopCloser(strings.NewReader(body))
		req.ContentLength = int64(len(body))
	})
	return status, answer
}

func TestSkillsAreListedShownAndSwitched(t *testing.T) {
	home := t.TempDir()
	for name, text := range map[string]string{
		"pdf/SKILL.md": "---\nname: pdf\ndescription: Reads PDF\n---\nDo it.", "pdf/a.txt": "x", "web/SKILL.md": "---\ndescription: Web\n---\nx", "bad/SKILL.md": "x",
	} {
		path := filepath.Join(home, "skills", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	r := newRig(t, func(_ *Options, d *Deps) {
		d.Skills = skills.New(skills.Options{
			Sources: []skills.Source{{Name: "user", Scope: skills.User, Base: home, Path: "skills", Managed: true}},
			States:  []skills.StateFile{{Scope: skills.User, Base: home, Path: "skill-state.json"}},
		})
	})
	var l skills.Listing
	r.get("/api/v1/skills", &l)
	require.Len(t, l.Items, 2)
	require.Equal(t, "pdf", l.Items[0].Name)
	require.Equal(t, "Reads PDF", l.Items[0].Description)
	require.True(t, l.Items[0].Enabled)
	require.Len(t, l.Skipped, 1)
	require.Equal(t, "bad", l.Skipped[0].Name)
	var d skills.Detail
	r.get("/api/v1/skills/pdf", &d)
	require.Equal(t, []string{"a.txt"}, d.Files)
	require.Equal(t, "Do it.", d.Content)

	status, body := r.post("/api/v1/skills", `{"action":"disable","names":["pdf","web"]}`)
	require.Equal(t, http.StatusOK, status, body)
	require.NoError(t, json.Unmarshal([]byte(body), &l))
	require.False(t, l.Items[0].Enabled || l.Items[1].Enabled)
	status, body = r.post("/api/v1/skills", `{"action":"enable","names":["pdf"],"scope":"user"}`)
	require.Equal(t, http.StatusOK, status, body)
	r.get("/api/v1/skills", &l)
	require.True(t, l.Items[0].Enabled)
	require.False(t, l.Items[1].Enabled)

	for body, want := range map[string]int{
		``: 400, `[]`: 400, `{"action":"delete","names":["pdf"]}`: 400, `{"action":"disable","names":["pdf"],"scope":"x"}`: 400, `{"action":"disable","x":1}`: 400,
		`{"action":"disable","names":["none"]}`: 404, `{"action":"disable","names":["../pdf"]}`: 404, `{"action":"disable","names":[]}`: 400,
		`{"action":"disable","names":["` + strings.Repeat("x", 2<<20) + `"]}`: 413,
	} {
		status, answer := r.post("/api/v1/skills", body)
		require.Equal(t, want, status, "%.80s: %s", body, answer)
		require.Contains(t, answer, `{"error":{"code":"`)
	}
	r.refused(http.StatusNotFound, "not_found", http.MethodGet, "/api/v1/skills/none", nil)
	r.refused(http.StatusNotFound, "not_found", http.MethodGet, "/api/v1/skills/..%2Fpdf", nil)
	r.refused(http.StatusMethodNotAllowed, "method_not_allowed", http.MethodDelete, "/api/v1/skills/pdf", nil)
	r.refused(http.StatusUnauthorized, "unauthorized", http.MethodGet, "/api/v1/skills", func(req *http.Request) { req.Header.Del("Authorization") })
}

func TestSkillsThatAreSwitchedOffAreAnEmptyList(t *testing.T) {
	r := newRig(t)
	var l skills.Listing
	r.get("/api/v1/skills", &l)
	require.Equal(t, skills.Listing{Items: []skills.Item{}, Skipped: []skills.ProblemItem{}}, l)
	r.refused(http.StatusConflict, "conflict", http.MethodGet, "/api/v1/skills/pdf", nil)
	status, _ := r.post("/api/v1/skills", `{"action":"disable","names":["pdf"]}`)
	require.Equal(t, http.StatusConflict, status)
}
