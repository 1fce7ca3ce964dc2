package tools_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/skills"
	"picobot/internal/tools"
)

// shelf is a library with a user's and a project's skills, and the tools for it.
type shelf struct {
	t          testing.TB
	home, work string
	library    *skills.Library
	registry   *tools.Registry
	events     []string
}

func newShelf(t testing.TB) *shelf {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	s := &shelf{t: t, home: base + "/home", work: base + "/work"}
	for _, dir := range []string{s.home, s.work} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	s.library = skills.New(skills.Options{
		Sources: []skills.Source{
			{Name: "user", Scope: skills.User, Base: s.home, Path: "skills", Managed: true},
			{Name: "project", Scope: skills.Project, Base: s.work, Path: ".picobot/skills", Confined: true, Managed: true},
		},
		States: []skills.StateFile{
			{Scope: skills.User, Base: s.home, Path: "skill-state.json"},
			{Scope: skills.Project, Base: s.work, Path: ".picobot/skill-state.json"},
		},
		MaxIndexChars: 4000, MaxListed: 32,
		Record: func(_ context.Context, events []skills.Event) error {
			for _, e := range events {
				s.events = append(s.events, strings.TrimSpace(string(e.Kind)+" "+e.Skill+" "+e.SessionID))
			}
			return nil
		},
	})
	s.registry = registry(t, tools.Options{}, tools.SkillActivate(s.library), tools.SkillList(s.library), tools.SkillManage(s.library))
	return s
}

func (s *shelf) put(path, text string) {
	s.t.Helper()
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o755))
}

func (s *shelf) run(tool, arguments string) tools.Result {
	return s.registry.Run(context.Background(), tools.Call{ID: "t.1.0", TurnID: "t", SessionID: "cli:a:1"}, tool, arguments)
}

func (s *shelf) ok(tool, arguments string) string {
	s.t.Helper()
	return requireOK(s.t, s.run(tool, arguments))
}

func TestSkillActivate_GivesInstructionsFolderAndFiles(t *testing.T) {
	s := newShelf(t)
	s.put(s.home+"/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: reads PDF: all of it\n---\n\nRun {baseDir}/scripts/x.sh\n")
	s.put(s.home+"/skills/pdf/scripts/x.sh", "#!/bin/sh\necho ran\n")
	require.Equal(t, "Skill: pdf\nFolder: "+s.home+"/skills/pdf\nFiles in it:\n- scripts/x.sh\n\nRun "+s.home+"/skills/pdf/scripts/x.sh", s.ok("skill_activate", `{"name":"pdf"}`))
	require.Contains(t, s.events, "activated pdf cli:a:1")
	require.Equal(t, "- pdf: reads PDF: all of it", s.ok("skill_list", `{}`))

	requireError(t, s.run("skill_activate", `{"name":"pfd"}`), "pdf")
	requireError(t, s.run("skill_activate", `{"name":"../pdf"}`), "there is no skill")
	requireError(t, s.run("skill_activate", `{}`), "missing argument")
	requireError(t, s.run("skill_activate", `{"name":1}`), "must be a string")
	requireError(t, s.run("skill_list", `{"all":true}`), "takes no arguments")
}

func TestSkillTools_NoSkills_SaySo(t *testing.T) {
	s := newShelf(t)
	require.Equal(t, "There are no skills.", s.ok("skill_list", `{}`))
	require.Equal(t, "There are no skills.\n", s.ok("skill_manage", `{"action":"list"}`))
	requireError(t, s.run("skill_activate", `{"name":"x"}`), "there are no skills")
}

func TestSkillManage_TheWholeLifeOfASkill(t *testing.T) {
	s := newShelf(t)
	require.Contains(t, s.ok("skill_manage", `{"action":"create","name":"greet","description":"Says hello","content":"# Greet"}`), "created the project skill greet in "+s.work+"/.picobot/skills/greet. It can be used")
	require.Contains(t, s.ok("skill_activate", `{"name":"greet"}`), "# Greet")
	require.Contains(t, s.ok("skill_manage", `{"action":"update","name":"greet","content":"# New"}`), "updated the project skill greet")
	require.Contains(t, s.ok("skill_manage", `{"action":"get","name":"greet"}`), "Description: Says hello\nSource: project (scope project)\nSkill: greet")
	require.Contains(t, s.ok("skill_manage", `{"action":"get","name":"greet"}`), "# New")
	require.Contains(t, s.ok("skill_manage", `{"action":"create","name":"mine","scope":"user","description":"Mine","content":"x"}`), s.home+"/skills/mine")
	require.Equal(t, "- greet: Says hello [project, scope project]\n- mine: Mine [user, scope user]\n", s.ok("skill_manage", `{"action":"list"}`))

	s.events = nil
	require.Equal(t, "switched off: greet, mine\n", s.ok("skill_manage", `{"action":"disable","names":["greet","mine"]}`))
	require.Equal(t, []string{"disabled greet cli:a:1", "disabled mine cli:a:1", "reloaded"}, s.events)
	require.Equal(t, "There are no skills.", s.ok("skill_list", `{}`))
	requireError(t, s.run("skill_activate", `{"name":"greet"}`), "switched off")
	require.Empty(t, s.library.Index(t.Context()))
	require.Contains(t, s.ok("skill_manage", `{"action":"list"}`), "- greet: Says hello [project, scope project, switched off]")
	require.Contains(t, s.ok("skill_manage", `{"action":"update","name":"greet","description":"Says hi"}`), "It is switched off")
	require.Equal(t, "switched off already: greet\n", s.ok("skill_manage", `{"action":"disable","name":"greet","names":["greet"]}`))
	s.put(s.home+"/skill-state.json", `{"disabled_skills":["mine"]}`)
	require.Equal(t, "switched on: greet\nmine is switched off by the user's state file still: enable it with scope user.", s.ok("skill_manage", `{"action":"enable","names":["greet","mine"],"scope":"project"}`))
	require.Equal(t, "switched on: mine\nnot switched off: greet", s.ok("skill_manage", `{"action":"enable","names":["greet","mine"]}`))

	s.put(s.home+"/skills/greet/SKILL.md", "---\ndescription: the other\n---\nx")
	require.Contains(t, s.ok("skill_manage", `{"action":"delete","name":"greet"}`), "deleted the project skill greet; the one of user")
	requireError(t, s.run("skill_manage", `{"action":"delete","name":"greet"}`), "give scope user")
	s.put(s.work+"/.picobot/skills/broken/SKILL.md", "x")
	require.Contains(t, s.ok("skill_manage", `{"action":"reload"}`), "Not usable:\n- broken (project): SKILL.md does not begin")
	s.put(s.work+"/.picobot/skills/mine/SKILL.md", "---\ndescription: ours\n---\nx")
	require.Contains(t, s.ok("skill_manage", `{"action":"update","name":"mine","scope":"user","content":"y"}`), "overrides it")
}

func TestSkillManage_BadArguments_AreRefusedAndChangeNothing(t *testing.T) {
	s := newShelf(t)
	s.put(s.home+"/skills/a/SKILL.md", "---\ndescription: a\n---\nx")
	for arguments, want := range map[string]string{
		`{}`:                                              "missing argument",
		`{"action":"destroy"}`:                            "must be one of",
		`{"action":"create"}`:                             "create needs the skill's name",
		`{"action":"get"}`:                                "get needs",
		`{"action":"delete","names":["a"]}`:               "delete needs",
		`{"action":"disable"}`:                            "disable needs",
		`{"action":"disable","names":[]}`:                 "disable needs",
		`{"action":"disable","names":["no"]}`:             "no skill of that name",
		`{"action":"get","name":"no"}`:                    "Skills: a",
		`{"action":"update","name":"no","content":"x"}`:   "Skills: a",
		`{"action":"get","name":"a","names":["b"]}`:       "one skill",
		`{"action":"create","name":"b","scope":"system"}`: "must be one of",
		`{"action":"create","name":"b"}`:                  "description",
		`{"action":"create","name":"../b","description":"x","content":"y"}`:                                 "letters",
		`{"action":"create","name":"/b","description":"x","content":"y"}`:                                   "letters",
		`{"action":"create","name":"con","description":"x","content":"y"}`:                                  "device",
		`{"action":"delete","name":".."}`:                                                                   "begin",
		`{"action":"disable","names":"a"}`:                                                                  "must be an array",
		`{"action":"disable","names":[` + strings.Repeat(`"a",`, 300) + `"a"]}`:                             "names",
		`{"action":"create","name":"b","description":"x","content":"y","path":"/etc"}`:                      "unknown argument",
		`{"action":"create","name":"b","content":"---\nname: c\ndescription: x\n---\ny"}`:                   "use one name",
		`{"action":"update","name":"a","content":"x"}`:                                                      "give scope user",
		`{"action":"create","name":"b","description":"x","content":"` + strings.Repeat("x", 300<<10) + `"}`: "at most",
	} {
		requireError(t, s.run("skill_manage", arguments), want)
	}
	require.NoDirExists(t, s.work+"/.picobot")
}

func TestSkillManage_WhatChangesFilesRunsOnce_WhatLooksMayRunAgain(t *testing.T) {
	s := newShelf(t)
	for action, want := range map[string]tools.Effect{
		"list": tools.ReadOnly, "get": tools.ReadOnly, "reload": tools.ReadOnly, "create": tools.Outside,
		"update": tools.Outside, "delete": tools.Outside, "disable": tools.Outside, "enable": tools.Outside,
	} {
		require.Equal(t, want, s.registry.Effect("skill_manage", `{"action":"`+action+`"}`), action)
	}
	require.Equal(t, tools.ReadOnly, s.registry.Effect("skill_activate", `{"name":"a"}`))
	require.Equal(t, "skill_manage: disable a, b", s.registry.Summary("skill_manage", `{"action":"disable","names":["a","b"]}`, 0))
}

func TestSkillManage_CancelledBefore_ChangesNothing(t *testing.T) {
	s := newShelf(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(tools.ErrCancelled)
	r := s.registry.Run(ctx, tools.Call{}, "skill_manage", `{"action":"create","name":"b","description":"x","content":"y"}`)
	requireError(t, r, "stopped by the user")
	require.NoDirExists(t, s.work+"/.picobot")
}

// What a skill brings can be read and run although it is not in the workspace, and not
// written.
func TestSkillFolders_CanBeReadAndRun_NotWritten(t *testing.T) {
	h := newHome(t)
	s := newShelf(t)
	folder := filepath.Join(h.dir, "skills", "pdf")
	s.put(folder+"/SKILL.md", "---\ndescription: x\n---\nbody")
	s.put(folder+"/scripts/x.sh", "#!/bin/sh\necho ran in $PWD\n")
	s.put(folder+"/references/a.md", "reference\n")
	s.put(filepath.Join(h.dir, "skills", "off", "secret.md"), "hunter2\n")
	require.NoError(t, os.Symlink("../../config.json", folder+"/config"))
	readable := []string{folder}
	h.workspace.AlsoRead(func() []string { return readable })
	sandbox := h.sandbox()
	sandbox.Read = func() []string { return readable }
	bash := h.bash(sandbox)
	read := tools.FileRead(h.workspace, 0)

	require.Equal(t, "reference", requireOK(t, call(t, read, args{"path": folder + "/references/a.md"})))
	require.Equal(t, "reference", requireOK(t, call(t, read, args{"path": folder + "/scripts/../references/a.md"})))
	for _, path := range []string{
		folder + "/config", folder + "/../off/secret.md", filepath.Join(h.dir, "skills/off/secret.md"), folder + "x", h.dir + "/config.json", "/etc/passwd", folder + "/../../config.json",
	} {
		requireError(t, call(t, read, args{"path": path}), "outside the workspace")
	}
	requireError(t, call(t, read, args{"path": folder}), "directory")
	requireError(t, call(t, read, args{"path": folder + "/none"}), "does not exist")
	for _, path := range []string{folder + "/references/a.md", folder + "/new.md"} {
		requireError(t, call(t, tools.FileWrite(h.workspace), args{"path": path, "content": "pwned"}), "outside the workspace")
		requireError(t, call(t, tools.FileEdit(h.workspace), args{"path": path, "old_text": "reference", "new_text": "pwned"}), "outside the workspace")
	}

	require.Equal(t, "ran in "+h.workspace.Dir()+"\n", requireOK(t, from(t, bash, chat.ChannelCLI, folder+"/scripts/x.sh")))
	out := requireOK(t, call(t, bash, args{"command": "./scripts/x.sh && cat references/a.md", "workdir": folder}))
	require.Equal(t, "ran in "+folder+"\nreference\n", out)
	for _, script := range []string{
		"echo pwned > " + folder + "/references/a.md", "touch " + folder + "/new", "rm -f " + folder + "/SKILL.md", "mv " + folder + " .",
		"cat " + folder + "/config", "cat " + filepath.Join(h.dir, "skills/off/secret.md"), "ls " + filepath.Join(h.dir, "skills"),
	} {
		out := requireOK(t, from(t, bash, "feishu", "("+script+") 2>&1"))
		require.Contains(t, out, "exit status", script)
		require.NotContains(t, out, "hunter2", script)
	}
	require.Equal(t, "reference\n", content(t, folder+"/references/a.md"))
	readable = nil // switched off
	requireError(t, call(t, read, args{"path": folder + "/references/a.md"}), "outside the workspace")
	require.Contains(t, requireOK(t, from(t, bash, chat.ChannelCLI, "cat "+folder+"/references/a.md 2>&1")), "exit status")
}

func TestSkillFolders_FilesAreNotConfined_StillNotWritten(t *testing.T) {
	w := openWorkspaceAt(t, false)
	folder := filepath.Join(filepath.Dir(w.Dir()), "skills", "pdf")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(folder+"/SKILL.md", []byte("kept"), 0o644))
	require.NoError(t, os.Symlink(folder, filepath.Join(w.Dir(), "link")))
	put(t, w, "mine/SKILL.md", "mine")
	w.AlsoRead(func() []string { return []string{folder, filepath.Join(w.Dir(), "mine")} })
	for _, path := range []string{folder + "/SKILL.md", folder + "/new/x.md", "../skills/pdf/SKILL.md", "link/SKILL.md"} {
		requireError(t, call(t, tools.FileWrite(w), args{"path": path, "content": "pwned"}), "skill_manage")
	}
	requireError(t, call(t, tools.FileEdit(w), args{"path": folder + "/SKILL.md", "old_text": "kept", "new_text": "pwned"}), "skill_manage")
	require.Equal(t, "kept", content(t, folder+"/SKILL.md"))
	requireOK(t, call(t, tools.FileWrite(w), args{"path": "mine/SKILL.md", "content": "changed"}))
	requireOK(t, call(t, tools.FileWrite(w), args{"path": folder + "s.md", "content": "x"}))
	require.Equal(t, "kept", requireOK(t, call(t, tools.FileRead(w, 0), args{"path": folder + "/SKILL.md"})))
}
