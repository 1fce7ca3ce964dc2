package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picobot/internal/protocol"
	"picobot/internal/testkit/fakeanthropic"
	"picobot/internal/testkit/fakeopenai"
)

// What is no whole answer is told to the person, and what it would have done is not
// done.
func TestAnswerThatIsNoWholeOneIsToldAndNothingHalfWrittenRuns(t *testing.T) {
	m := newModels(t, fakeopenai.Config{}, nil)
	const write = `{"path":"half.txt","content":"half"}`
	for _, row := range []struct {
		name, agent string
		gpt         []fakeopenai.Step
		claude      []fakeanthropic.Step
		says        []string
		calls       int
	}{
		{name: "cut", agent: "gpt", says: []string{"I will", "cut off at its length limit"}, calls: 1, gpt: []fakeopenai.Step{
			fakeopenai.Reply{Text: "I will", ToolCalls: []fakeopenai.ToolCall{{Name: "file_write", Arguments: write}}, FinishReason: "length"}}},
		{name: "cut", agent: "claude", says: []string{"I will", "cut off at its length limit"}, calls: 1, claude: []fakeanthropic.Step{
			fakeanthropic.Reply{Text: "I will", ToolCalls: []fakeanthropic.ToolCall{{ID: "toolu_1", Name: "file_write", Input: write}}, StopReason: "max_tokens"}}},
		{name: "filtered", agent: "gpt", says: []string{"content filter"}, calls: 1, gpt: []fakeopenai.Step{
			fakeopenai.Reply{ToolCalls: []fakeopenai.ToolCall{{Name: "file_write", Arguments: write}}, FinishReason: "content_filter"}}},
		{name: "refused", agent: "claude", says: []string{"content filter"}, calls: 1, claude: []fakeanthropic.Step{
			fakeanthropic.Reply{StopReason: "refusal", Refusal: "I do not do that"}}},
		{name: "empty", agent: "gpt", says: []string{"answered with nothing"}, calls: 2, gpt: []fakeopenai.Step{
			fakeopenai.Reply{Text: " \n"}, fakeopenai.Reply{}}},
		{name: "empty", agent: "claude", says: []string{"answered with nothing"}, calls: 2, claude: []fakeanthropic.Step{
			fakeanthropic.Reply{Thinking: "hm"}, fakeanthropic.Reply{Thinking: "hm"}}},
		{name: "empty once", agent: "gpt", says: []string{"here I am"}, calls: 2, gpt: []fakeopenai.Step{
			fakeopenai.Reply{Reasoning: "hm"}, fakeopenai.Reply{Text: "here I am"}}},
		{name: "broken arguments", agent: "gpt", says: []string{"well then"}, calls: 2, gpt: []fakeopenai.Step{
			fakeopenai.Reply{ToolCalls: []fakeopenai.ToolCall{{Name: "file_write", Arguments: `{"path":"half.txt","cont`}}}, fakeopenai.Reply{Text: "well then"}}},
	} {
		t.Run(row.name+" "+row.agent, func(t *testing.T) {
			m.T = t
			before := m.gpt.Count() + m.claude.Count()
			m.gpt.Enqueue(row.gpt...)
			m.claude.Enqueue(row.claude...)
			c := m.chat(row.agent)
			turn := m.ask(c, "write it")
			// A refusal without a word is a failure, so that a fallback may do better.
			if failed := turn.Status == protocol.TurnFailed; failed != (row.name == "refused") {
				t.Errorf("%+v %+v", turn, turn.Error)
			}
			for _, want := range row.says {
				if got := m.reply(turn); !strings.Contains(got, want) {
					t.Errorf("%q does not say %q", got, want)
				}
			}
			if n := m.gpt.Count() + m.claude.Count() - before; n != row.calls {
				t.Errorf("%d calls, not %d", n, row.calls)
			}
			// The conversation goes on.
			next := m.ask(c, "go on")
			same(t, "the next turn", []string{m.reply(next)}, "echo: go on")
		})
	}
	if _, err := os.Stat(filepath.Join(m.h.Workspace(), "half.txt")); err == nil {
		t.Error("a call that was not whole has run")
	}
	m.T = t
	m.valid()
}
