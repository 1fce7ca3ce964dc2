package skills_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/skills"
)

func TestLibrary_NothingThere_IsEmptyAndFine(t *testing.T) {
	l := newLibrary(t)
	require.Empty(t, l.names())
	require.Empty(t, l.Index(t.Context()))
	require.Empty(t, l.Snapshot(t.Context()).Problems())
	require.Empty(t, l.happened())
}

// Folders written for other agents, as they are.
func TestLibrary_SkillsOfOtherAgents_WorkUnchanged(t *testing.T) {
	l := newLibrary(t)
	copyTree(t, "testdata/shapes", l.dir("user_agent"))
	require.Equal(t, []string{"blog-post", "meeting-notes", "pdf-forms", "release-notes", "weather", "日报"}, l.names())
	require.Empty(t, l.Snapshot(t.Context()).Skipped())
	for name, want := range map[string]struct {
		description string
		files       []string
		body        string
	}{
		"pdf-forms":     {"Fill in PDF forms, read their fields and check them. Use when somebody sends a form (application, tax, visa) or asks what a PDF wants to know.", []string{"assets/example.json", "references/fields.md", "scripts/fields.py"}, "scripts/fields.py FORM.pdf"},
		"release-notes": {"Write release notes from commits: groups, links and a summary. Not for changelogs of other projects.", []string{"agents/openai.yaml", "scripts/collect.sh"}, "Run `scripts/collect.sh`"},
		"weather":       {"Current weather and forecasts for a place, without a key.", []string{"_meta.json", "bin/wthr"}, "`" + l.dir("user_agent") + "/weather/bin/wthr Berlin` prints one line. `" + l.dir("user_agent") + "/weather/bin/wthr` is the same."},
		"blog-post":     {`Write a blog post. Use when: the user wants a post, an article or an essay. Triggers: "blog", "write about".`, nil, "Ask for topic"},
		"meeting-notes": {"Turn a transcript of a meeting into notes: decisions, open questions, who does what.", nil, "three sections"},
		"日报":            {"写工作日报:整理今天完成的任务、遇到的问题、明天的计划。 Use for daily reports in Chinese.", []string{"templates/daily.md"}, "按 templates/daily.md 填写"},
	} {
		a, err := l.Activate(t.Context(), name, "s", nil)
		require.NoError(t, err, name)
		require.Equal(t, want.description, a.Skill.Description, name)
		require.Equal(t, append([]string{}, want.files...), append([]string{}, a.Files...), name)
		require.Contains(t, a.Body, want.body, name)
		require.FileExists(t, a.Skill.Path+"/"+map[bool]string{true: "skill.md", false: "SKILL.md"}[name == "meeting-notes"])
	}
	index := l.Index(t.Context())
	require.Contains(t, index, "- blog-post: Write a blog post. Use when: ")
	require.NotContains(t, index, "meeting-notes", "it asks not to be offered")
}

func TestLibrary_LaterSource_OverridesAnEarlierOne(t *testing.T) {
	l := newLibrary(t)
	order := []string{"user", "user_agent", "project", "project_agent"}
	for i, source := range order {
		l.put(source, "a/SKILL.md", plainSkill("a", "of "+source))
		l.put(source, source+"-only/SKILL.md", plainSkill(strings.ReplaceAll(source, "_", "-")+"-only", "x"))
		k := l.find("a")
		require.Equal(t, "of "+source, k.Description)
		require.Equal(t, source, k.Source)
		require.Equal(t, order[:i], append([]string{}, k.Overrides...))
	}
	require.Len(t, l.names(), 5)
	// A broken one hides nothing.
	l.put("project_agent", "a/SKILL.md", "no front matter")
	require.Equal(t, "of project", l.find("a").Description)
	require.Contains(t, l.why("a"), "front matter")
}

func TestLibrary_OneDirectoryAsTwoSources_IsReadOnce(t *testing.T) {
	l := newLibrary(t)
	require.NoError(t, os.MkdirAll(l.project+"/.picobot", 0o755))
	l.put("user", "a/SKILL.md", plainSkill("a", "x"))
	require.NoError(t, os.Remove(l.project+"/.picobot"))
	require.NoError(t, os.Symlink("../home", l.project+"/.picobot"))
	lib := skills.New(skills.Options{Sources: []skills.Source{
		{Name: "user", Scope: skills.User, Base: l.home, Path: "skills", Managed: true},
		{Name: "project", Scope: skills.Project, Base: l.project, Path: ".picobot/skills", Managed: true},
	}})
	k, ok := lib.Snapshot(t.Context()).Find("a")
	require.True(t, ok)
	require.Equal(t, "user", k.Source)
	require.Empty(t, k.Overrides)
}

// PicoBot may run where its home is .picobot.
func TestCreate_HomeIsTheProjectsDirectory_Works(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(base+"/.picobot/skills", 0o755))
	lib := skills.New(skills.Options{Sources: []skills.Source{
		{Name: "user", Scope: skills.User, Base: base + "/.picobot", Path: "skills", Managed: true},
		{Name: "project", Scope: skills.Project, Base: base, Path: ".picobot/skills", Confined: true, Managed: true},
	}})
	k, err := lib.Create(t.Context(), me, skills.Project, "a", "x", "y")
	require.NoError(t, err)
	require.Equal(t, base+"/.picobot/skills/a", k.Path)
	used, ok := lib.Snapshot(t.Context()).Find("a")
	require.True(t, ok)
	require.Equal(t, k, used)
	_, err = lib.Update(t.Context(), me, skills.User, "a", "", "z")
	require.NoError(t, err)
	require.NoError(t, lib.Delete(t.Context(), me, skills.Project, "a"))
}

func TestLibrary_ChangesOnDisk_AreSeenAtOnce(t *testing.T) {
	l := newLibrary(t)
	see := func(what string, want ...string) {
		t.Helper()
		require.Equal(t, append([]string{}, want...), append([]string{}, l.names()...), what)
	}
	see("nothing")
	l.put("user", "a/SKILL.md", plainSkill("a", "one"))
	see("the first folder", "a")
	l.put("project", "deep/er/b/SKILL.md", plainSkill("b", "one"))
	see("a nested one", "a", "b")
	l.put("project", "deep/er/c/SKILL.md", plainSkill("c", "one"))
	see("one beside it", "a", "b", "c")

	// Edits in place: the same file, the same size, within one tick of the clock.
	path := l.dir("user") + "/a/SKILL.md"
	for i := range 50 {
		text := fmt.Sprintf("n%02d", i)
		write(t, path, plainSkill("a", text))
		require.Equal(t, text, l.find("a").Description)
	}
	// The same size and time, long after.
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(path, old, old))
	require.Equal(t, "n49", l.find("a").Description)
	write(t, path, plainSkill("a", "n50"))
	require.NoError(t, os.Chtimes(path, old, old))
	require.Equal(t, "n50", l.find("a").Description)
	// Replaced, as editors do it.
	write(t, path+".new", plainSkill("a", "n51"))
	require.NoError(t, os.Rename(path+".new", path))
	require.Equal(t, "n51", l.find("a").Description)

	require.NoError(t, os.Rename(l.dir("project")+"/deep/er/c", l.dir("project")+"/c2"))
	see("moved", "a", "b", "c")
	require.Equal(t, l.dir("project")+"/c2", l.find("c").Path)
	require.NoError(t, os.Remove(path))
	see("deleted", "b", "c")
	l.put("user", "a/SKILL.md", "broken")
	see("broken", "b", "c")
	require.NotEmpty(t, l.why("a"))
	l.put("user", "a/SKILL.md", plainSkill("a", "mended"))
	see("mended", "a", "b", "c")
	require.Empty(t, l.why("a"))
	require.NoError(t, os.Rename(l.dir("project"), l.base+"/away"))
	see("a whole source is gone", "a")
	require.NoError(t, os.Rename(l.base+"/away", l.dir("project")))
	see("and back", "a", "b", "c")
	write(t, l.home+"/skill-state.json", `{"disabled_skills":["a"]}`)
	require.True(t, l.find("a").Disabled)
	write(t, l.home+"/skill-state.json", `{"disabled_skills":["b"]}`)
	require.False(t, l.find("a").Disabled)
	require.True(t, l.find("b").Disabled)
	require.NoError(t, os.Remove(l.home+"/skill-state.json"))
	require.False(t, l.find("b").Disabled)
}

func TestLibrary_NothingChanged_NothingIsReadAndTheIndexIsTheSame(t *testing.T) {
	l := newLibrary(t)
	copyTree(t, "testdata/shapes", l.dir("user"))
	before := l.Snapshot(t.Context())
	for range 10 {
		require.True(t, before == l.Snapshot(t.Context()))
	}
	require.NoError(t, os.WriteFile(l.dir("user")+"/weather/notes.txt", []byte("x"), 0o644))
	require.Same(t, before, l.Snapshot(t.Context()), "files that are read on activation only")
	require.NotSame(t, before, l.Reload(t.Context()))
	require.Equal(t, before.Index(), l.Index(t.Context()))
}

func TestLibrary_ManyAskAtOnce_AllSeeWhatWasThereWhenTheyAsked(t *testing.T) {
	l := newLibrary(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				name := fmt.Sprintf("s%d-%d", i, j)
				write(t, filepath.Join(l.dir("user"), name, "SKILL.md"), plainSkill(name, "x"))
				if _, ok := l.Snapshot(t.Context()).Find(name); !ok {
					t.Errorf("%s was written and is not there", name)
				}
			}
		})
	}
	wg.Wait()
	require.Len(t, l.names(), 160)
}

func TestLibrary_BadFolders_AreSkippedWithAReason(t *testing.T) {
	l := newLibrary(t)
	big := plainSkill("big", "x") + strings.Repeat("x", 256<<10)
	for folder, c := range map[string]struct{ text, want string }{
		"nothing":     {"no front matter", "front matter"},
		"silent":      {"---\nname: silent\n---\n", "no description"},
		"big":         {big, "larger than 256 KiB"},
		"binary":      {"\x7fELF\x00\xff", "UTF-8"},
		"escape":      {plainSkill("../../etc", "x"), "lead out"},
		"escape2":     {plainSkill(`..\x`, "x"), "lead out"},
		"absolute":    {plainSkill("/etc/passwd", "x"), "lead out"},
		"inner":       {plainSkill("a/b", "x"), "lead out"},
		"control":     {"---\nname: \"a\\x00b\"\ndescription: x\n---\n", "lead out"},
		"con":         {"---\ndescription: x\n---\n", "device"},
		"-dash":       {"---\ndescription: x\n---\n", "begin with"},
		"with blanks": {"---\nname: With Blanks\ndescription: x\n---\n", "only letters"},
		"ｗｉｄｅ":        {"---\ndescription: x\n---\n", "ordinary letters"},
		"p\u0430ypal": {"---\ndescription: x\n---\n", "alphabets"},
	} {
		l.put("project", folder+"/SKILL.md", c.text)
		require.Contains(t, l.why(folder), c.want, folder)
	}
	require.NoError(t, os.MkdirAll(l.dir("project")+"/empty/inner", 0o755))
	require.Contains(t, l.why("empty"), "no SKILL.md")
	l.put("project", "files/readme.txt", "x")
	require.Contains(t, l.why("files"), "no SKILL.md")
	require.NoError(t, os.MkdirAll(l.dir("project")+"/folder/SKILL.md", 0o755))
	require.Contains(t, l.why("folder"), "not a file")
	l.put("project", "SKILL.md", plainSkill("loose", "x"))
	require.Contains(t, l.why("SKILL.md"), "folder of its own")
	l.put("project", "one/SKILL.md", plainSkill("twin", "first"))
	l.put("project", "two/SKILL.md", plainSkill("twin", "second"))
	require.Contains(t, l.why("two"), "already")
	require.Equal(t, "first", l.find("twin").Description)
	write(t, l.home+"/skill-state.json", `{"disabled_skills": "twin"}`)
	require.Contains(t, l.why("skill-state.json"), "list of names")
	require.Equal(t, []string{"twin"}, l.names(), "everything else is there all the same")
	// Nobody's problem:
	l.put("project", ".hidden/SKILL.md", "broken")
	l.put("project", "node_modules/x/SKILL.md", "broken")
	l.put("project", "README.md", "about these skills")
	for _, name := range []string{".hidden", "node_modules", "x", "README.md"} {
		require.Empty(t, l.why(name), name)
	}
}

func TestLibrary_NameForPeople_TheFoldersCounts(t *testing.T) {
	l := newLibrary(t)
	l.put("user", "meeting/SKILL.md", plainSkill("Meeting Notes!", "x"))
	l.put("user", "tool-1.2.0/SKILL.md", plainSkill("tool", "x"))
	require.Equal(t, []string{"meeting", "tool"}, l.names())
	var notes []string
	for _, p := range l.Snapshot(t.Context()).Problems() {
		require.True(t, p.Note)
		notes = append(notes, p.Name+": "+p.Message)
	}
	require.Len(t, notes, 2)
	require.Contains(t, notes[0], `meeting: the name "Meeting Notes!" cannot be used`)
	require.Contains(t, notes[1], `tool-1.2.0: the folder is called "tool-1.2.0", the skill "tool"`)
}

func TestLibrary_Links_NeverLeadOut(t *testing.T) {
	l := newLibrary(t)
	write(t, l.base+"/outside/evil/SKILL.md", plainSkill("evil", "SECRET"))
	write(t, l.base+"/outside/passwd", "SECRET")
	l.put("project", "good/SKILL.md", plainSkill("good", "x"))
	l.put("project", "inner/text.md", plainSkill("inner", "x"))
	l.put("project", "files/SKILL.md", plainSkill("files", "x"))
	dir := l.dir("project")
	for at, to := range map[string]string{
		"evil":            l.base + "/outside/evil",
		"evil2":           "../../../outside/evil",
		"proc":            "/proc",
		"root":            "/",
		"self":            ".",
		"up":              "..",
		"loop1":           "loop2",
		"loop2":           "loop1",
		"nowhere":         "gone",
		"alias":           "good",
		"inner/SKILL.md":  "text.md",
		"files/outside":   l.base + "/outside/passwd",
		"files/up":        "../good/SKILL.md",
		"files/inside.md": "SKILL.md",
		"files/round":     ".",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, at)))
	}
	for _, folder := range []string{"theft", "theft2", "theft3"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, folder), 0o755))
	}
	require.NoError(t, os.Symlink(l.base+"/outside/evil/SKILL.md", dir+"/theft/SKILL.md"))
	require.NoError(t, os.Symlink("../good/SKILL.md", dir+"/theft2/SKILL.md"))
	require.NoError(t, os.Symlink("SKILL.md", dir+"/theft3/SKILL.md"))
	snap := l.Snapshot(t.Context())
	require.Equal(t, []string{"files", "good", "inner"}, l.names())
	for name, want := range map[string]string{
		"evil": "leads out", "evil2": "leads out", "proc": "leads out", "root": "leads out", "up": "leads out",
		"loop1": "circle", "loop2": "circle", "nowhere": "link to nothing", "theft": "leads out", "theft2": "leads out", "theft3": "circle",
	} {
		require.Contains(t, l.why(name), want, name)
	}
	require.Empty(t, l.why("good")+l.why("alias"), "a link to what is there anyway")
	require.NotContains(t, fmt.Sprint(snap), "SECRET")
	require.True(t, snap == l.Snapshot(t.Context()), "what changes where links lead is nothing to us")
	a, err := l.Activate(t.Context(), "files", "", nil)
	require.NoError(t, err)
	require.Equal(t, []string{"inside.md"}, a.Files, "only what can be read is listed")

	// A whole source that leads out of the project.
	require.NoError(t, os.RemoveAll(l.project+"/.agents"))
	require.NoError(t, os.Symlink(l.base+"/outside", l.project+"/.agents"))
	require.NoError(t, os.Symlink(".", l.base+"/outside/skills"))
	require.Contains(t, l.why("project_agent"), "leads out")
	require.NotContains(t, l.names(), "evil")
	// People may keep their own elsewhere.
	require.NoError(t, os.Symlink(l.base+"/outside", l.user+"/.agents"))
	require.Contains(t, l.names(), "evil")
}

func TestLibrary_WhatNeverEnds_IsNotWaitedFor(t *testing.T) {
	l := newLibrary(t)
	require.NoError(t, os.MkdirAll(l.dir("user")+"/pipe", 0o755))
	require.NoError(t, syscall.Mkfifo(l.dir("user")+"/pipe/SKILL.md", 0o644))
	require.NoError(t, syscall.Mkfifo(l.home+"/skill-state.json", 0o644))
	deep := l.dir("user") + "/deep"
	for range 200 {
		deep += "/d"
	}
	require.NoError(t, os.MkdirAll(deep, 0o755))
	write(t, deep+"/SKILL.md", plainSkill("deep", "x"))
	l.put("user", "good/SKILL.md", plainSkill("good", "x"))
	require.Equal(t, []string{"good"}, l.names())
	require.Contains(t, l.why("pipe"), "not a file")
	require.Contains(t, l.why("skill-state.json"), "not a file")
	require.Contains(t, l.why("deep"), "no SKILL.md")
}

func TestLibrary_ManyProblems_AreCounted(t *testing.T) {
	l := newLibrary(t)
	for i := range 210 {
		require.NoError(t, os.MkdirAll(fmt.Sprintf("%s/f%04d", l.dir("user"), i), 0o755))
	}
	l.put("project", "good/SKILL.md", plainSkill("good", "x"))
	require.Equal(t, []string{"good"}, l.names())
	require.Len(t, l.Snapshot(t.Context()).Problems(), 201)
	require.Equal(t, "there are 10 more problems", l.why("…"))
}

func TestLibrary_BrokenState_KeepsWhatWasSwitchedOff(t *testing.T) {
	l := newLibrary(t)
	l.put("user", "a/SKILL.md", plainSkill("a", "x"))
	write(t, l.home+"/skill-state.json", `{"disabled_skills":["a"]}`)
	require.True(t, l.find("a").Disabled)
	write(t, l.home+"/skill-state.json", `{"disabled_skills":["a"`)
	require.True(t, l.find("a").Disabled)
	require.Contains(t, l.why("skill-state.json"), "not valid JSON")
	_, err := l.Enable(t.Context(), skills.Change{}, "", []string{"a"})
	require.ErrorContains(t, err, "skill-state.json")
	data, err := os.ReadFile(l.home + "/skill-state.json")
	require.NoError(t, err)
	require.Equal(t, `{"disabled_skills":["a"`, string(data), "what somebody is writing is not overwritten")
}

func TestLibrary_TellsTheRecorderWhatIsNews(t *testing.T) {
	l := newLibrary(t)
	l.put("user", "a/SKILL.md", plainSkill("a", "x"))
	l.put("user", "b/SKILL.md", "broken")
	require.Equal(t, []string{"discovered a", "skipped b"}, l.happened())
	require.Empty(t, l.happened())
	l.put("user", "c/SKILL.md", plainSkill("c", "x"))
	require.Equal(t, []string{"discovered c", "reloaded"}, l.happened())
	_, err := l.Activate(t.Context(), "a", "cli:x:1", map[string]any{"call": "1"})
	require.NoError(t, err)
	require.Equal(t, "cli:x:1", l.events[0].SessionID)
	require.Equal(t, map[string]any{"call": "1", "source": "user", "path": l.dir("user") + "/a"}, l.events[0].Detail)
	require.Equal(t, []string{"activated a"}, l.happened())

	// A recorder that cannot write is told again.
	l.failed = fmt.Errorf("disk full")
	l.put("user", "d/SKILL.md", plainSkill("d", "x"))
	require.Empty(t, l.happened())
	l.failed = nil
	require.Equal(t, []string{"discovered d", "reloaded"}, l.happened())
}

func TestReadable_AreTheSkillsInUse(t *testing.T) {
	l := newLibrary(t)
	l.put("user", "a/SKILL.md", plainSkill("a", "x"))
	l.put("user", "off/SKILL.md", plainSkill("off", "x"))
	l.put("project", "b/SKILL.md", plainSkill("b", "x"))
	l.put("project", "broken/SKILL.md", "x")
	write(t, l.home+"/skill-state.json", `{"disabled_skills":["off"]}`)
	require.Equal(t, []string{l.dir("project") + "/b", l.dir("user") + "/a"}, l.Readable(t.Context()))
	require.Equal(t, []string{l.dir("user") + "/a"}, l.ReadableIn(t.Context(), l.home))
}
