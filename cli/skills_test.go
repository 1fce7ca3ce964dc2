package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/skills"
)

func (h *harness) skill(dir, name, text string) {
	h.t.Helper()
	path := filepath.Join(dir, name, "SKILL.md")
	require.NoError(h.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(h.t, os.WriteFile(path, []byte(text), 0o644))
}

func newSkillsHarness(t *testing.T) *harness {
	h := newHarness(t)
	h.configf(`{"gateway": {"addr": "127.0.0.1:0"}}`)
	h.env["HOME"] = t.TempDir()
	h.skill(h.home+"/skills", "pdf", "---\nname: pdf\ndescription: Reads PDF: all of it\n---\n\n# PDF\x1b[31m")
	h.skill(h.env["HOME"]+"/.agents/skills", "web", "---\ndescription: Searches\n---\nx")
	h.skill(h.workDir+"/.picobot/skills", "deploy", "---\ndescription: Deploys\n---\nx")
	h.skill(h.workDir+"/.agents/skills", "pdf", "---\ndescription: The project's\n---\nx")
	return h
}

func (h *harness) items() map[string]skills.Item {
	h.t.Helper()
	r := h.run("skills", "list", "--json")
	require.Zero(h.t, r.code, r.stderr)
	var list []skills.Item
	require.NoError(h.t, json.Unmarshal([]byte(r.stdout), &list), r.stdout)
	out := map[string]skills.Item{}
	for _, k := range list {
		out[k.Name] = k
	}
	return out
}

func TestSkillsList_NoGateway_ShowsAllFourSources(t *testing.T) {
	h := newSkillsHarness(t)
	got := h.items()
	require.Len(t, got, 3)
	require.Equal(t, "project_agent", got["pdf"].Source)
	require.Equal(t, []string{"user"}, got["pdf"].Overrides)
	require.Equal(t, skills.User, got["web"].Scope)
	require.True(t, got["deploy"].Enabled)
	r := h.run("skills", "list")
	require.Regexp(t, `(?m)^deploy\s+enabled\s+project\s+Deploys`, r.stdout)
	h.skill(h.workDir+"/.agents/skills", "bad", "no front matter")
	r = h.run("skills", "list")
	require.Zero(t, r.code)
	require.Regexp(t, `(?m)^warning: .*/bad was skipped: .*front matter`, r.stdout)
	r = h.run("skills", "list", "--json")
	require.Regexp(t, `(?m)^warning: .*/bad was skipped: `, r.stderr)
	require.NotContains(t, r.stdout, "bad")
	// The configuration says which sources count.
	h.configf(`{"gateway": {"addr": "127.0.0.1:0"}, "skills": {"sources": ["project_agent", "user"]}}`)
	got = h.items()
	require.Len(t, got, 1)
	require.Equal(t, "user", got["pdf"].Source)
	h.configf(`{"gateway": {"addr": "127.0.0.1:0"}, "skills": {"enabled": false}}`)
	r = h.run("skills", "list")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "skills.enabled")
}

func TestSkillsShow_PrintsInstructionsWithoutControlCharacters(t *testing.T) {
	h := newSkillsHarness(t)
	require.NoError(t, os.RemoveAll(h.workDir+"/.agents"))
	r := h.run("skills", "show", "pdf")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "description: Reads PDF: all of it\nstate: enabled\nsource: user (scope user)\nfolder: ")
	require.Contains(t, r.stdout, "\n# PDF")
	require.NotContains(t, r.stdout, "\x1b")
	var d skills.Detail
	require.NoError(t, json.Unmarshal([]byte(h.run("skills", "show", "pdf", "--json").stdout), &d))
	require.Equal(t, "pdf", d.Name)
	r = h.run("skills", "show", "none")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "none: there is no skill of that name")
	require.Equal(t, 2, h.run("skills", "show").code)
}

func TestSkillsDisable_WritesTheStateFileOfItsScope(t *testing.T) {
	h := newSkillsHarness(t)
	r := h.run("skills", "disable", "web", "deploy")
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{"web:disabled", "deploy:disabled"}, strings.Fields(strings.ReplaceAll(r.stdout, ": ", ":")))
	data, err := os.ReadFile(h.home + "/skill-state.json")
	require.NoError(t, err)
	require.JSONEq(t, `{"disabled_skills":["web"]}`, string(data))
	data, err = os.ReadFile(h.workDir + "/.picobot/skill-state.json")
	require.NoError(t, err)
	require.JSONEq(t, `{"disabled_skills":["deploy"]}`, string(data))
	require.False(t, h.items()["web"].Enabled)
	require.Zero(t, h.run("skills", "disable", "web", "--scope", "project").code)
	require.Zero(t, h.run("skills", "enable", "web").code)
	require.True(t, h.items()["web"].Enabled, "it was switched off in both")
	r = h.run("skills", "disable", "none", "web")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "no skill of that name: none")
	require.True(t, h.items()["web"].Enabled)
	require.Equal(t, 2, h.run("skills", "disable").code)
	require.Equal(t, 2, h.run("skills", "disable", "web", "--scope", "x").code)
	require.Equal(t, 2, h.run("skills", "nonsense").code)
}

func TestSkillsCheck_ExplainsEachProblem(t *testing.T) {
	h := newSkillsHarness(t)
	r := h.run("skills", "check")
	require.Zero(t, r.code, r.stdout)
	require.Regexp(t, `(?m)^ok +deploy \(`, r.stdout)
	require.Regexp(t, `(?m)^note +pdf .*not valid YAML`, r.stdout)
	h.skill(h.workDir+"/.picobot/skills", "silent", "---\nname: silent\n---\nx")
	r = h.run("skills", "check")
	require.Equal(t, 1, r.code)
	require.Regexp(t, `(?m)^skipped +silent .*no description`, r.stdout)
	require.Empty(t, r.stderr)
	dir := t.TempDir()
	h.skill(dir, "one", "---\ndescription: x\n---\ny")
	h.skill(dir, "two", "x")
	var all []checked
	r = h.run("skills", "check", dir, "--json")
	require.Equal(t, 1, r.code)
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &all))
	require.Equal(t, []string{"skipped", "ok"}, []string{all[0].Status, all[1].Status})
	r = h.run("skills", "check", dir+"/one")
	require.Zero(t, r.code)
	require.Regexp(t, `^ok +one \(.*/one\)\n$`, r.stdout)
	r = h.run("skills", "check", dir+"/two")
	require.Equal(t, 1, r.code)
	require.Regexp(t, `^skipped +two .*front matter`, r.stdout)
	require.Equal(t, 1, h.run("skills", "check", dir+"/none").code)
	require.Equal(t, 2, h.run("skills", "check", "a", "b").code)
}

func TestDoctor_WarnsOfEachSkippedSkill(t *testing.T) {
	h := newSkillsHarness(t)
	found := h.examined(0)
	require.EqualValues(t, "ok", found["skills"].Status)
	require.Contains(t, found["skills"].Detail, "3, of which 3")
	h.skill(h.workDir+"/.agents/skills", "bad", "no front matter")
	found = h.examined(0)
	require.EqualValues(t, "warn", found["skills"].Status)
	require.Contains(t, found["skills"].Detail, "bad was skipped: SKILL.md does not begin")
}
