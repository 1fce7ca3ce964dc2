package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picobot/internal/protocol"
	"picobot/internal/testkit/fakeopenai"
	"picobot/internal/testkit/harness"
)

// puppet is a gateway whose model calls the tool that the message names, and answers
// with its result.
type puppet struct {
	*testing.T
	h    *harness.Harness
	g    *harness.Gateway
	fake *fakeopenai.Server
	ws   *harness.Conn
	said int
}

func newPuppet(t *testing.T, sections object) *puppet {
	t.Helper()
	p := &puppet{T: t, h: harness.New(t), fake: fakeopenai.Start(t, fakeopenai.Config{})}
	p.fake.Handle(func(r fakeopenai.Request) fakeopenai.Step {
		if last := r.Messages[len(r.Messages)-1]; last.Role == "tool" {
			return fakeopenai.Reply{Text: last.Content}
		}
		tool, arguments, ok := strings.Cut(r.LastUser(), " {")
		if !ok {
			return fakeopenai.Reply{Text: "done"}
		}
		return fakeopenai.Reply{ToolCalls: []fakeopenai.ToolCall{{Name: tool, Arguments: "{" + arguments}}}
	})
	config := object{
		"providers": object{"fake": object{"type": "openai", "base_url": p.fake.URL(), "api_key": p.fake.Key()}},
		"models":    object{"fake": object{"provider": "fake", "model": "fake-model"}},
		"agents":    object{"default": object{"model": "fake"}},
	}
	for name, section := range sections {
		config[name] = section
	}
	p.h.Configure(config)
	return p
}

func (p *puppet) start() {
	p.Helper()
	p.g = p.h.StartGateway()
	p.ws = p.g.WS(p.T)
	p.ws.Hello(protocol.Hello{ClientID: "me"})
}

// say sends a message and returns the answer.
func (p *puppet) say(text string) string {
	p.Helper()
	p.said++
	a := p.ws.Send(fmt.Sprint("m", p.said), text)
	p.ws.End(a.TurnID)
	return strings.Join(p.h.Record(`SELECT content FROM messages WHERE turn_id = ? ORDER BY seq DESC LIMIT 1`, a.TurnID), "\n")
}

// call has the model call a tool and returns the result.
func (p *puppet) call(tool string, arguments object) string {
	p.Helper()
	text, err := json.Marshal(arguments)
	if err != nil {
		p.Fatal(err)
	}
	return p.say(tool + " " + string(text))
}

// told is what the model was told besides messages, in the last request.
func (p *puppet) told() string {
	p.Helper()
	for _, r := range slices.Backward(p.fake.Requests()) {
		if len(r.Tools) > 0 { // no title, no summary
			return r.System()
		}
	}
	return ""
}

func (p *puppet) has(text string, wants ...string) {
	p.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			p.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func (p *puppet) hasNot(text string, not string) {
	p.Helper()
	if strings.Contains(text, not) {
		p.Errorf("%q is in\n%s", not, text)
	}
}

func (p *puppet) write(path, text string) {
	p.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.Fatal(err)
	}
	p.h.WriteFile(path, text)
}

func (p *puppet) work(path string) string { return filepath.Join(p.h.WorkDir(), path) }

func skillText(name, description, body string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n\n" + body + "\n"
}

func TestSkillsThroughWholeTurns(t *testing.T) {
	p := newPuppet(t, nil)
	h := p.h
	p.write(filepath.Join(h.Home, "skills/pdf/SKILL.md"), skillText("pdf", "Reads PDF: forms too", "Run {baseDir}/run.sh"))
	p.write(filepath.Join(h.Home, "skills/pdf/run.sh"), "echo pdf has run\n")
	p.write(filepath.Join(h.Home, "skills/pdf/references/forms.md"), "all about forms\n")
	p.write(filepath.Join(h.Env["HOME"], ".agents/skills/web/SKILL.md"), skillText("web", "Searches", "x"))
	p.write(p.work(".agents/skills/pdf/SKILL.md"), "broken")
	p.write(p.work(".agents/skills/deploy/SKILL.md"), skillText("deploy", "Deploys", "make deploy"))
	p.start()

	// The index stands in the request and nowhere else.
	p.say("hello")
	index := p.told()
	p.has(index, "\n- deploy: Deploys\n- web: Searches\n- pdf: Reads PDF: forms too\n")
	p.say("hello again")
	if p.told() != index {
		t.Errorf("the index has changed:\n%s\n%s", index, p.told())
	}
	same(t, "rows with the index", h.Record(`SELECT count(*) FROM messages WHERE content LIKE '%Reads PDF%'`), "0")

	// A skill is read, its files too, its scripts run; nothing there can be written.
	folder := filepath.Join(h.Home, "skills/pdf")
	p.has(p.call("skill_activate", object{"name": "pdf"}), "Folder: "+folder, "- references/forms.md", "- run.sh", "Run "+folder+"/run.sh")
	p.has(p.call("file_read", object{"path": folder + "/references/forms.md"}), "all about forms")
	p.has(p.call("bash", object{"command": "sh " + folder + "/run.sh; sh ./run.sh", "workdir": folder}), "pdf has run\npdf has run")
	p.has(p.call("file_write", object{"path": folder + "/SKILL.md", "content": "pwned"}), "Error: ", "outside the workspace")
	p.has(p.call("bash", object{"command": "echo pwned >> " + folder + "/SKILL.md"}), "exit status 1")
	p.has(p.call("bash", object{"command": "cat " + h.Home + "/config.json " + h.Home + "/gateway.token; ls " + h.Home + "/skills"}), "exit status")

	// Made in one turn, used in the next.
	p.has(p.call("skill_manage", object{"action": "create", "name": "greet", "description": "Says hello: politely", "content": "# Bow first"}), "created the project skill greet")
	p.say("hello")
	p.has(p.told(), "\n- greet: Says hello: politely\n")
	p.has(p.call("skill_activate", object{"name": "greet"}), "# Bow first")
	if _, err := os.Stat(p.work(".picobot/skills/greet/SKILL.md")); err != nil {
		t.Error(err)
	}
	p.has(p.call("skill_manage", object{"action": "update", "name": "greet", "description": "Says hi"}), "updated")

	// Switched off: gone from everywhere at once, and back again.
	p.has(p.call("skill_manage", object{"action": "disable", "names": []string{"greet", "web"}}), "switched off: greet, web")
	p.hasNot(p.told(), "- greet") // already in the request after the call
	p.hasNot(p.call("skill_list", object{}), "greet")
	p.has(p.call("skill_activate", object{"name": "greet"}), "Error: ", "switched off")
	p.has(p.call("skill_manage", object{"action": "enable", "names": []string{"greet", "web"}}), "switched on: greet, web")
	p.has(p.call("skill_list", object{}), "- greet: Says hi")

	// Edited by a person while it runs.
	p.write(filepath.Join(h.Home, "skills/pdf/SKILL.md"), skillText("pdf", "Writes PDF", "new text"))
	p.write(filepath.Join(h.Home, "skills/bad/SKILL.md"), "broken")
	p.say("hello")
	p.has(p.told(), "- pdf: Writes PDF\n")
	p.has(p.call("skill_activate", object{"name": "pdf"}), "new text")
	p.has(p.call("skill_manage", object{"action": "delete", "name": "greet"}), "deleted")
	p.say("hello")
	p.hasNot(p.told(), "greet")

	events := strings.Join(h.Record(`SELECT event, skill, coalesce(scope, ''), session_id IS NOT NULL FROM skill_events ORDER BY id`), "\n")
	p.has(events, "discovered|pdf|user|0", "skipped|pdf|project|0", "activated|pdf|user|1", "created|greet|project|1", "updated|greet|project|1",
		"disabled|greet|project|1\ndisabled|web|project|1\nreloaded||", "skipped|bad|user|0", "deleted|greet|project|1")
	same(t, "effects", h.Record(`SELECT DISTINCT effect FROM tool_runs WHERE name = 'skill_activate'`), "read_only")
	sound(t, h)

	// A restart finds nothing new.
	found := h.Record(`SELECT count(*) FROM skill_events WHERE event IN ('discovered', 'skipped')`)
	p.g.Stop()
	p.start()
	p.say("hello")
	same(t, "discoveries", h.Record(`SELECT count(*) FROM skill_events WHERE event IN ('discovered', 'skipped')`), found...)
}

func TestSkillsIndexKeepsItsBounds(t *testing.T) {
	p := newPuppet(t, object{"skills": object{"max_index_chars": 600, "max_listed_skills": 5}})
	for i := range 40 {
		name := fmt.Sprintf("skill-%02d", i)
		p.write(filepath.Join(p.h.Home, "skills", name, "SKILL.md"), skillText(name, strings.Repeat("word ", 100), "x"))
	}
	p.start()
	p.say("hello")
	at := strings.Index(p.told(), "Skills you have")
	if at < 0 {
		t.Fatal(p.told())
	}
	index := p.told()[at:]
	p.has(index, "(35 more skills are not shown: call skill_list)")
	if n := len([]rune(index)); n > 600 || strings.Count(index, "\n- ") != 5 {
		t.Errorf("%d characters:\n%s", n, index)
	}
	p.has(p.call("skill_list", object{}), "skill-39")
}

func TestSkillsSwitchedOffAreNowhere(t *testing.T) {
	p := newPuppet(t, object{"skills": object{"enabled": false}})
	p.write(filepath.Join(p.h.Home, "skills/pdf/SKILL.md"), skillText("pdf", "Reads PDF", "x"))
	p.start()
	p.say("hello")
	p.hasNot(p.told(), "pdf")
	p.has(p.call("skill_list", object{}), "Error: unknown tool")
	same(t, "events", p.h.Record(`SELECT count(*) FROM skill_events`), "0")
}

// The commands ask the running gateway, whose directory need not be theirs.
func TestSkillsCommandsBesideAGateway(t *testing.T) {
	p := newPuppet(t, nil)
	h := p.h
	p.write(filepath.Join(h.Home, "skills/pdf/SKILL.md"), skillText("pdf", "Reads PDF", "x"))
	p.write(filepath.Join(h.Home, "skills/bad/SKILL.md"), "broken")
	p.write(p.work(".picobot/skills/deploy/SKILL.md"), skillText("deploy", "Deploys", "make"))
	p.start()
	run := func(code int, args ...string) string {
		t.Helper()
		r := h.Run(append([]string{"skills"}, args...)...)
		if r.Code != code {
			t.Fatalf("skills %v: exit %d\n%s%s", args, r.Code, r.Stdout, r.Stderr)
		}
		return r.Stdout + r.Stderr
	}
	p.has(run(0, "list"), "deploy", "pdf", "bad was skipped: ")
	p.has(run(0, "show", "deploy"), "make")
	p.has(run(0, "disable", "pdf", "deploy"), "pdf: disabled", "deploy: disabled")
	p.say("hello")
	p.hasNot(p.told(), "Reads PDF")
	same(t, "reloads", h.Record(`SELECT count(*) FROM skill_events WHERE event = 'reloaded'`), "1")
	p.has(run(0, "enable", "pdf"), "pdf: enabled")
	p.say("hello")
	p.has(p.told(), "- pdf: Reads PDF")
	p.has(run(1, "disable", "none"), "no skill of that name: none")
	p.has(run(1, "show", "none"), "no skill of that name")
	p.has(run(1, "check"), "skipped", "front matter", "ok")
	doctor := h.Run("doctor")
	p.has(doctor.Stdout, "warn  skills: bad was skipped")
	p.g.Stop()
	p.has(run(0, "list"), "deploy  disabled", "bad was skipped: ")
}
