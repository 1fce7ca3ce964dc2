package skills_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/skills"
)

var me = skills.Change{SessionID: "cli:me:1"}

func (l *library) create(scope skills.Scope, name string) {
	l.t.Helper()
	_, err := l.Create(l.t.Context(), me, scope, name, "does "+name, "# "+name)
	require.NoError(l.t, err)
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func TestCreate_WritesAFolderThatIsASkillAtOnce(t *testing.T) {
	l := newLibrary(t)
	l.Snapshot(t.Context())
	k, err := l.Create(t.Context(), me, skills.Project, "greet", "Says: \"hello\" # to\n people", "# Greet\r\nSay hello.\n")
	require.NoError(t, err)
	require.Equal(t, `Says: "hello" # to people`, k.Description)
	require.Equal(t, l.project+"/.picobot/skills/greet", k.Path)
	require.Equal(t, "---\nname: greet\ndescription: 'Says: \"hello\" # to people'\n---\n\n# Greet\r\nSay hello.\n", read(t, k.Path+"/SKILL.md"))
	require.Equal(t, []string{"created greet", "discovered greet", "reloaded"}, l.happened())
	k, err = l.Create(t.Context(), me, skills.User, "mine", "", "---\ndescription: whole\nlicense: MIT\n---\nbody")
	require.NoError(t, err)
	require.Equal(t, l.home+"/skills/mine", k.Path)
	require.Contains(t, read(t, k.Path+"/SKILL.md"), "license: MIT")
	k, err = l.Create(t.Context(), me, skills.User, "other", "given", "\uFEFF---\nname: other\ndescription: whole\nlicense: MIT\n---\nbody")
	require.NoError(t, err)
	require.Equal(t, "given", k.Description)
	require.Contains(t, read(t, k.Path+"/SKILL.md"), "license: MIT")
	entries, err := os.ReadDir(l.home + "/skills")
	require.NoError(t, err)
	require.Len(t, entries, 2, "nothing else is left")
}

func TestCreate_WhatCannotBeASkill_IsRefused(t *testing.T) {
	l := newLibrary(t)
	l.create(skills.Project, "there")
	l.put("project", "broken/SKILL.md", "broken")
	for name, c := range map[string]struct {
		scope                      skills.Scope
		name, description, content string
		want                       string
	}{
		"exists":         {skills.Project, "there", "x", "y", "use update"},
		"broken exists":  {skills.Project, "broken", "x", "y", "update or delete"},
		"scope":          {"system", "a", "x", "y", "scope must be"},
		"no description": {skills.Project, "a", "", "y", "description"},
		"no content":     {skills.Project, "a", "x", " \n", "content"},
		"blank":          {skills.Project, "a", " \u200b ", "y", "description"},
		"other name":     {skills.Project, "a", "", "---\nname: b\ndescription: x\n---\ny", "use one name"},
		"not closed":     {skills.Project, "a", "x", "---\nname: a\n", "does not end"},
		"large":          {skills.Project, "a", "x", strings.Repeat("x", 300<<10), "at most"},
		"not text":       {skills.Project, "a", "x", "\xff\xfe", "UTF-8"},
		"parent":         {skills.Project, "../a", "x", "y", "letters"},
		"slash":          {skills.Project, "a/b", "x", "y", "letters"},
		"backslash":      {skills.Project, `a\b`, "x", "y", "letters"},
		"hidden":         {skills.Project, ".picobot-new-x", "x", "y", "begin"},
		"device":         {skills.Project, "con", "x", "y", "device"},
		"empty":          {skills.Project, "", "x", "y", "empty"},
	} {
		_, err := l.Create(t.Context(), me, c.scope, c.name, c.description, c.content)
		require.ErrorContains(t, err, c.want, name)
	}
	require.Equal(t, []string{"there"}, l.names())
	entries, err := os.ReadDir(l.base)
	require.NoError(t, err)
	require.Len(t, entries, 3)
}

func TestUpdate_ChangesWhatIsGivenAndKeepsTheRest(t *testing.T) {
	l := newLibrary(t)
	front := "name: a\ndescription: >\n  old\n  text\n# a comment\nallowed-tools: [Bash]\nmetadata:\n  x: y\n"
	l.put("user", "a/SKILL.md", "---\r\n"+strings.ReplaceAll(front, "\n", "\r\n")+"---\r\nold body\r\n")
	l.put("user", "a/scripts/x.sh", "echo x")
	path := l.dir("user") + "/a/SKILL.md"
	require.NoError(t, os.Chmod(path, 0o640))
	l.Snapshot(t.Context())
	_, err := l.Update(t.Context(), me, skills.User, "a", "", "new body")
	require.NoError(t, err)
	require.Equal(t, "---\n"+front+"---\n\nnew body\n", read(t, path))
	k, err := l.Update(t.Context(), me, skills.User, "a", "new: text", "")
	require.NoError(t, err)
	require.Equal(t, "new: text", k.Description)
	require.Equal(t, "---\nname: a\ndescription: 'new: text'\n# a comment\nallowed-tools: [Bash]\nmetadata:\n  x: y\n---\n\nnew body\n", read(t, path))
	_, err = l.Update(t.Context(), me, skills.User, "a", "", "---\nname: a\ndescription: whole\n---\nall new")
	require.NoError(t, err)
	require.Equal(t, "whole", l.find("a").Description)
	require.FileExists(t, l.dir("user")+"/a/scripts/x.sh")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	require.Equal(t, []string{"discovered a", "updated a", "reloaded", "updated a", "reloaded", "updated a", "reloaded"}, l.happened())
	// Front matter that is no YAML is kept, too.
	l.put("user", "b/SKILL.md", "---\nname: b\ndescription: Use when: x\nwhen: use: it\n---\nbody")
	_, err = l.Update(t.Context(), me, skills.User, "b", "", "new")
	require.NoError(t, err)
	require.Contains(t, read(t, l.dir("user")+"/b/SKILL.md"), "when: use: it")
	// What never was a skill can be made one.
	l.put("user", "c/SKILL.md", "broken")
	_, err = l.Update(t.Context(), me, skills.User, "c", "", "body")
	require.ErrorContains(t, err, "description")
	_, err = l.Update(t.Context(), me, skills.User, "c", "works", "body")
	require.NoError(t, err)
	require.Equal(t, "works", l.find("c").Description)
}

func TestUpdateAndDelete_SkillsElsewhere_AreLeftAlone(t *testing.T) {
	l := newLibrary(t)
	l.put("user", "a/SKILL.md", plainSkill("a", "x"))
	l.put("project_agent", "b/SKILL.md", plainSkill("b", "x"))
	l.put("project", "category/c/SKILL.md", plainSkill("c", "x"))
	for name, want := range map[string]string{
		"a": "give scope user", "b": "other agents", "none": "no skill of that name", "category": "no skill of that name", "..": "begin", "../x": "begin",
	} {
		_, err := l.Update(t.Context(), me, skills.Project, name, "y", "")
		require.ErrorContains(t, err, want, name)
		require.ErrorContains(t, l.Delete(t.Context(), me, skills.Project, name), want, name)
	}
	_, err := l.Update(t.Context(), me, skills.Project, "c", "", "")
	require.ErrorContains(t, err, "nothing to change")
	require.Equal(t, []string{"a", "b", "c"}, l.names())
	// Below a category it is the skill's folder that goes.
	l.put("project", "category/d/SKILL.md", plainSkill("d", "x"))
	require.NoError(t, l.Delete(t.Context(), me, skills.Project, "c"))
	require.Equal(t, []string{"a", "b", "d"}, l.names())
}

func TestDelete_TakesTheWholeFolderAndWhatKilledProcessesLeft(t *testing.T) {
	l := newLibrary(t)
	l.create(skills.Project, "a")
	l.create(skills.Project, "b")
	l.put("project", "a/scripts/deep/x.sh", "x")
	write(t, l.base+"/outside/kept.txt", "kept")
	require.NoError(t, os.Symlink(l.base+"/outside", l.dir("project")+"/a/link"))
	l.put("project", ".picobot-deleted-x/SKILL.md", "left")
	l.put("project", ".picobot-new-x/SKILL.md", "left")
	l.put("project", ".picobot-new-y/SKILL.md", "in progress")
	old := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(l.dir("project")+"/.picobot-new-x", old, old))
	require.NoError(t, l.Delete(t.Context(), me, skills.Project, "a"))
	require.Equal(t, []string{"b"}, l.names())
	entries, err := os.ReadDir(l.dir("project"))
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Equal(t, ".picobot-new-y", entries[0].Name())
	require.FileExists(t, l.base+"/outside/kept.txt")
}

func TestWriting_ThroughLinks_IsRefused(t *testing.T) {
	l := newLibrary(t)
	write(t, l.base+"/outside/a/SKILL.md", plainSkill("a", "kept"))
	l.put("project", "real/SKILL.md", plainSkill("real", "kept"))
	l.put("project", "file/text.md", plainSkill("file", "kept"))
	require.NoError(t, os.Symlink("text.md", l.dir("project")+"/file/SKILL.md"))
	require.NoError(t, os.Symlink("real", l.dir("project")+"/zlink"))
	require.NoError(t, os.Symlink("../outside/a", l.dir("project")+"/out"))
	_, err := l.Update(t.Context(), me, skills.Project, "file", "", "pwned")
	require.ErrorContains(t, err, "link")
	require.Contains(t, read(t, l.dir("project")+"/file/text.md"), "kept")
	for _, name := range []string{"zlink", "out"} {
		_, err = l.Update(t.Context(), me, skills.Project, name, "x", "pwned")
		require.Error(t, err, name)
		require.Error(t, l.Delete(t.Context(), me, skills.Project, name), name)
		_, err = l.Create(t.Context(), me, skills.Project, name, "x", "pwned")
		require.Error(t, err, name)
	}
	// The whole way is a link.
	require.NoError(t, os.Rename(l.project+"/.picobot", l.base+"/elsewhere"))
	for _, to := range []string{"../elsewhere", l.base + "/elsewhere", "inside"} {
		require.NoError(t, os.MkdirAll(l.project+"/inside/skills", 0o755))
		require.NoError(t, os.Symlink(to, l.project+"/.picobot"))
		_, err = l.Create(t.Context(), me, skills.Project, "new", "x", "y")
		require.ErrorContains(t, err, "link", to)
		_, err = l.Disable(t.Context(), me, skills.Project, []string{"real"})
		require.Error(t, err, to)
		require.NoError(t, os.Remove(l.project+"/.picobot"))
	}
	require.NoError(t, os.MkdirAll(l.home+"/skills", 0o755))
	l.put("user", "x/SKILL.md", plainSkill("x", "y"))
	write(t, l.base+"/state.json", "{}")
	require.NoError(t, os.Symlink("../state.json", l.home+"/skill-state.json"))
	_, err = l.Disable(t.Context(), me, skills.User, []string{"x"})
	require.Error(t, err)
	require.Equal(t, "{}", read(t, l.base+"/state.json"))
	require.NoError(t, os.Remove(l.home+"/skill-state.json"))
	write(t, l.home+"/config.json", "{}")
	require.NoError(t, os.Symlink("config.json", l.home+"/skill-state.json"))
	_, err = l.Disable(t.Context(), me, skills.User, []string{"x"})
	require.ErrorContains(t, err, "link")
	require.Equal(t, "{}", read(t, l.home+"/config.json"))
	require.Contains(t, read(t, l.base+"/outside/a/SKILL.md"), "kept")
}

func TestDisable_ABatch_IsOneReloadAndKeepsForeignKeys(t *testing.T) {
	l := newLibrary(t)
	for _, name := range []string{"a", "b", "c"} {
		l.put("user", name+"/SKILL.md", plainSkill(name, "x"))
	}
	write(t, l.project+"/.picobot/skill-state.json", `{"theirs": {"x": [1, 2.50]}, "disabled_skills": ["gone"]}`)
	l.happened()
	changed, err := l.Disable(t.Context(), me, skills.Project, []string{"b", "a", "b"})
	require.NoError(t, err)
	require.Equal(t, []string{"b", "a"}, changed)
	require.Equal(t, []string{"disabled b", "disabled a", "reloaded"}, l.happened())
	var state map[string]json.RawMessage
	text := read(t, l.project+"/.picobot/skill-state.json")
	require.NoError(t, json.Unmarshal([]byte(text), &state), text)
	require.JSONEq(t, `["a","b","gone"]`, string(state["disabled_skills"]))
	require.JSONEq(t, `{"x": [1, 2.50]}`, string(state["theirs"]))
	require.NotContains(t, l.Index(t.Context()), "- a:")
	_, err = l.Activate(t.Context(), "a", "", nil)
	require.ErrorIs(t, err, skills.ErrDisabled)

	changed, err = l.Disable(t.Context(), me, skills.Project, []string{"a"})
	require.NoError(t, err)
	require.Empty(t, changed)
	require.Empty(t, l.happened(), "nothing was to be done")
	_, err = l.Disable(t.Context(), me, skills.Project, []string{"c", "none", "nowhere"})
	require.ErrorContains(t, err, "none, nowhere (nothing was changed)")
	require.False(t, l.find("c").Disabled)
	_, err = l.Disable(t.Context(), me, skills.Project, nil)
	require.ErrorContains(t, err, "no skill is named")
	for _, name := range []string{"../x", "a\nb", ""} {
		_, err = l.Disable(t.Context(), me, skills.Project, []string{name})
		require.ErrorIs(t, err, skills.ErrUnknown)
	}
}

func TestEnable_BothStateFilesAreRead(t *testing.T) {
	l := newLibrary(t)
	l.put("user", "a/SKILL.md", plainSkill("a", "x"))
	write(t, l.home+"/skill-state.json", `{"disabled_skills": ["a", "gone"]}`)
	write(t, l.project+"/.picobot/skill-state.json", `{"disabled_skills": ["a"]}`)
	require.Equal(t, []skills.Scope{skills.User, skills.Project}, l.Snapshot(t.Context()).DisabledBy("a"))
	changed, err := l.Enable(t.Context(), me, skills.Project, []string{"a"})
	require.NoError(t, err)
	require.Empty(t, changed, "the user's file switches it off still")
	require.Equal(t, []skills.Scope{skills.User}, l.Snapshot(t.Context()).DisabledBy("a"))
	changed, err = l.Enable(t.Context(), me, "", []string{"a", "gone"})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "gone"}, changed)
	require.JSONEq(t, `{"disabled_skills": []}`, read(t, l.home+"/skill-state.json"))
	require.False(t, l.find("a").Disabled)
}

func TestManage_ManyAtOnce_NothingIsLost(t *testing.T) {
	l := newLibrary(t)
	var wg sync.WaitGroup
	for i := range 20 {
		l.create(skills.User, fmt.Sprintf("s%d", i))
	}
	for i := range 20 {
		wg.Go(func() {
			if _, err := l.Disable(t.Context(), me, skills.User, []string{fmt.Sprintf("s%d", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Empty(t, l.Snapshot(t.Context()).Enabled())
	left, err := filepath.Glob(l.home + "/.picobot*")
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestWriting_WhereItCannotBe_IsAnError(t *testing.T) {
	l := newLibrary(t)
	// A file where the folder would be: that stops root, too.
	require.NoError(t, os.WriteFile(filepath.Join(l.project, ".picobot"), nil, 0o600))
	_, err := l.Create(t.Context(), me, skills.Project, "a", "x", "y")
	require.ErrorContains(t, err, ".picobot is not a folder")
}
