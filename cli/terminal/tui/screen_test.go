package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/internal/text"
)

const markdownAnswer = "# 巡检报告\n\nAll **three** hosts answer:\n\n- `web-1` 正常，负载很低，没有需要处理的问题\n- `web-2` ok\n\n```go\nfunc main() {}\n```\n\n| host | ms |\n|---|---|\n| web-1 | 12 |\n\n总之一切正常。"

// turnOf is a turn with thoughts, tools and an answer, in stages.
func turnOf(r *rig) []func() {
	return []func(){
		func() {
			r.does(welcome())
			r.types("are the hosts 正常?")
		},
		func() {
			r.types("<enter>")
			r.does(protocol.Accepted{ID: "m1", TurnID: "t1", SessionID: session}, started("t1"), user("t1", "are the hosts 正常?"),
				thinks("t1", "The person asks for the hosts. 先看看主机的状态，\nthen "), thinks("t1", "answer."))
			r.later(1200 * time.Millisecond)
		},
		func() {
			call := reply("t1", "")
			call.ReasoningContent = "The person asks for the hosts. 先看看主机的状态，\nthen answer."
			call.ToolCalls = []chat.ToolCall{chat.NewToolCall("c1", "bash", `{"command":"ping web-1"}`), chat.NewToolCall("c2", "bash", `{"command":"ping 主机"}`)}
			r.does(call, tool("t1", "c1", "started", "bash: ping web-1"), tool("t1", "c2", "started", "bash: ping 主机"))
			r.later(3400 * time.Millisecond)
			r.does(tool("t1", "c1", "completed", "bash: ping web-1"))
			r.later(500 * time.Millisecond)
		},
		func() {
			r.does(tool("t1", "c2", "failed", "bash: ping 主机"), result("t1", "c1", "12 ms\n"), result("t1", "c2", "Error: no such host"))
			for _, c := range markdownAnswer[:strings.Index(markdownAnswer, "负载")] {
				d := piece("t1", string(c))
				d.Step = 2
				r.does(d)
			}
			r.later(100 * time.Millisecond)
		},
		func() {
			r.does(reply("t1", markdownAnswer), completed("t1"))
			r.later(time.Second)
		},
	}
}

func TestScreen_TurnAtSeveralSizes_LooksAsDrawn(t *testing.T) {
	for _, size := range []struct{ width, height int }{{80, 40}, {40, 20}, {24, 10}, {16, 5}} {
		r := newRig(t, size.width, size.height)
		for n, stage := range turnOf(r) {
			stage()
			r.shows(fmt.Sprintf("turn-%dx%d-%d", size.width, size.height, n+1))
		}
	}
}

func TestScreen_InChinese_LooksAsDrawn(t *testing.T) {
	r := newRig(t, 60, 40, func(o *Options) { o.Words = text.For(text.Chinese) })
	for _, stage := range turnOf(r) {
		stage()
	}
	r.does(protocol.Notice{ID: "1", Level: "warn", Text: "模型没有回答"}, lost{}, say{"x"})
	r.types("/")
	r.shows("chinese")
}

// However the size changes while an answer is written, in the end the screen is what
// it would have been in the last size all along.
func TestScreen_ResizedWhileStreaming_IsAsIfItHadAlwaysBeenSo(t *testing.T) {
	for stage := range 5 {
		r := newRig(t, 80, 40)
		fresh := newRig(t, 40, 20)
		stages, freshStages := turnOf(r), turnOf(fresh)
		for n := range stages {
			stages[n]()
			freshStages[n]()
			if n == stage {
				for _, s := range [][2]int{{20, 8}, {100, 30}, {40, 3}, {40, 20}} {
					r.resize(s[0], s[1])
				}
				fresh.types("<ctrl+l>") // draws what fits on the screen, from its top
			}
		}
		r.types("<ctrl+l>")
		fresh.types("<ctrl+l>")
		if got, want := strings.Join(r.screen(), "\n"), strings.Join(fresh.screen(), "\n"); got != want {
			t.Errorf("resized in stage %d: got\n%s\nwant\n%s", stage+1, got, want)
		}
	}
}

// Ctrl-T shows everything unfolded, also what has gone into the scrollback, and leaves
// no trace there.
func TestScreen_Details_ShowEverythingAndGoAwayAgain(t *testing.T) {
	r := newRig(t, 60, 12)
	stages := turnOf(r)
	for _, stage := range stages {
		stage()
	}
	before := strings.Join(r.lines(), "\n")
	for _, leave := range []string{"<ctrl+t>", "<esc>", "<ctrl+c>", "q"} {
		r.types("<ctrl+t>")
		r.shows("details-1")
		r.types("<down>", "<down>", "<pgdown>")
		r.shows("details-2")
		r.types("<end>", "<up>", "<home>")
		r.shows("details-3")
		r.types("typed, and ignored")
		r.types(leave)
		if got := strings.Join(r.lines(), "\n"); got != before {
			t.Errorf("after %s it is\n%s\nwant\n%s", leave, got, before)
		}
	}
	if len(r.talk.sent) != 1 || r.shell.model.input.area.Value() != "" {
		t.Errorf("sent %q, typed %q", r.talk.sent, r.shell.model.input.area.Value())
	}
}

// What comes while details are shown is shown there, and below what was said when they
// are left.
func TestScreen_Details_WhileATurnRuns_FollowItAndLoseNothing(t *testing.T) {
	r, plain := newRig(t, 60, 20), newRig(t, 60, 20)
	stages, plainStages := turnOf(r), turnOf(plain)
	for n := range stages {
		stages[n]()
		plainStages[n]()
		if n == 1 {
			r.types("<ctrl+t>")
			r.shows("details-thinking")
		}
	}
	if got := r.screen(); !strings.HasPrefix(got[19], "Details ") || got[18] != "总之一切正常。" {
		t.Errorf("the end is not shown:\n%s", strings.Join(got, "\n"))
	}
	r.resize(50, 18)
	if got := r.screen(); !strings.HasPrefix(got[17], "Details ") || got[16] != "总之一切正常。" {
		t.Errorf("resized:\n%s", strings.Join(got, "\n"))
	}
	r.resize(60, 20)
	r.types("<ctrl+t>", "<ctrl+l>")
	plain.types("<ctrl+l>")
	if got, want := strings.Join(r.screen(), "\n"), strings.Join(plain.screen(), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	r.types("<ctrl+t>")
	if err := r.shell.close(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.screen(), "\n"); strings.Contains(got, "Details") || !strings.Contains(got, "总之一切正常。") {
		t.Errorf("whoever leaves sees\n%s", got)
	}
}

func TestScreen_Details_OfManyLines_AreThereWhole(t *testing.T) {
	r := newRig(t, 40, 10)
	var result2 strings.Builder
	for n := range 200 {
		fmt.Fprintf(&result2, "row %03d\n", n)
	}
	r.does(welcome(), started("t1"), user("t1", strings.Repeat("said\n", 40)), tool("t1", "c1", "started", "bash: ls"), result("t1", "c1", result2.String()), completed("t1"))
	r.types("<ctrl+t>", "<home>")
	seen := map[string]bool{}
	for range 300 {
		for _, l := range r.screen() {
			seen[strings.TrimSpace(l)] = true
		}
		r.types("<down>")
	}
	for n := range 200 {
		if !seen[fmt.Sprintf("row %03d", n)] {
			t.Errorf("row %d is not shown", n)
		}
	}
	if seen["… 28 more lines"] {
		t.Error("something is folded")
	}
}

func TestScreen_WithoutColour_HasNone(t *testing.T) {
	for _, colour := range []bool{false, true} {
		r := newRig(t, 60, 40, func(o *Options) { o.Colour = colour })
		for _, stage := range turnOf(r) {
			stage()
		}
		r.types("/", "<down>")
		has := false
		for _, code := range strings.Split(r.raw.String(), "\x1b[")[1:] {
			params, _, sgr := strings.Cut(code, "m")
			if !sgr || strings.ContainsAny(params, "?ABCHJKhlu ") {
				continue
			}
			for _, p := range strings.Split(params, ";") {
				if len(p) == 2 && (p[0] == '3' || p[0] == '4' || p[0] == '9') || len(p) == 3 && p[0] == '1' {
					has = true
				}
			}
		}
		if has != colour {
			t.Errorf("colour wanted: %v, shown: %v", colour, has)
		}
	}
}

func TestScreen_LongAnswer_IsWholeInTheScrollback(t *testing.T) {
	r := newRig(t, 40, 12)
	r.does(welcome(), started("t1"), user("t1", "count"))
	var whole strings.Builder
	for n := range 120 {
		p := fmt.Sprintf("paragraph %03d\n\n", n)
		if n%3 == 0 {
			p = fmt.Sprintf("- item %03d of a list\n", n)
		}
		whole.WriteString(p)
		r.does(piece("t1", p))
	}
	r.does(reply("t1", whole.String()), completed("t1"))
	for n := range 120 {
		what := fmt.Sprintf("paragraph %03d", n)
		if n%3 == 0 {
			what = fmt.Sprintf("item %03d", n)
		}
		if got := r.count(what); got != 1 {
			t.Errorf("%q is shown %d times", what, got)
		}
	}
}

func TestScreen_Earlier_IsTheEndOfItAndNoMoreThanAScreen(t *testing.T) {
	var rows []protocol.Message
	for n := range 5 {
		failed := reply("u", fmt.Sprintf("why %d failed", n))
		failed.Marker = chat.MarkerError
		rows = append(rows, user("u", fmt.Sprintf("question %d", n)), result("u", "c", "files\nand more"), reply("u", fmt.Sprintf("**answer** %d", n)), reply("u", ""))
		if n == 3 {
			rows = append(rows, failed)
		}
	}
	for _, size := range [][2]int{{60, 40}, {60, 16}} {
		r := newRig(t, size[0], size[1])
		r.does(welcome(), earlier{rows})
		r.shows(fmt.Sprintf("earlier-%d", size[1]))
	}
	r := newRig(t, 40, 16)
	r.does(welcome(), earlier{[]protocol.Message{user("u", "gone"), reply("u", "gone\n\n"+strings.Repeat("line\n\n", 30)+"the end")}})
	if r.count("gone") != 0 || r.count("the end") != 1 || r.count("…") != 1 {
		t.Errorf("shown\n%s", strings.Join(r.lines(), "\n"))
	}
	r = newRig(t, 40, 16)
	r.does(welcome(), earlier{nil})
	if r.count("earlier") != 0 {
		t.Error("a heading above nothing")
	}
}
