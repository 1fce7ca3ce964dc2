package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"picobot/internal/chat"
	"picobot/internal/protocol"
)

func plain(s string) string { return strings.NewReplacer("\x1b[2m", "", "\x1b[0m", "").Replace(s) }

func TestEarlierRowsAreTheLastOnesOldestFirst(t *testing.T) {
	rows := []protocol.Message{
		{Role: chat.RoleUser, Content: "too old"},
		{Role: chat.RoleAssistant, Content: "too old"},
	}
	for n := range 2 {
		rows = append(rows, protocol.Message{Role: chat.RoleUser, Content: fmt.Sprintf("q%d", n)},
			protocol.Message{Role: chat.RoleAssistant}, // only asks for a tool
			protocol.Message{Role: chat.RoleTool, ToolName: "bash", Content: "a\nb"},
			protocol.Message{Role: chat.RoleAssistant, Content: fmt.Sprintf("a%d\n", n)})
	}
	rows = append(rows, protocol.Message{Role: chat.RoleUser, Content: "two\nlines\x1b[31m"}, protocol.Message{Role: chat.RoleAssistant, Content: "last"})
	var w bytes.Buffer
	NewScreen(&w).Earlier(rows, 80, 40)
	want := "— earlier —\n> q0\n· bash: a b\na0\n> q1\n· bash: a b\na1\n> two\nlines[31m\nlast\n"
	if got := plain(w.String()); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEarlierRowsAreNoMoreThanAScreen(t *testing.T) {
	rows := []protocol.Message{
		{Role: chat.RoleUser, Content: "gone"},
		{Role: chat.RoleAssistant, Content: "gone\n" + strings.Repeat("x", 20) + "\nseen\n" + strings.Repeat("中", 10)},
	}
	var w bytes.Buffer
	NewScreen(&w).Earlier(rows, 10, besides+5)
	if got, want := plain(w.String()), "— earlier —\n"+strings.Repeat("x", 20)+"\nseen\n"+strings.Repeat("中", 10)+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	w.Reset()
	NewScreen(&w).Earlier(rows[:0], 10, 10)
	if w.Len() > 0 {
		t.Errorf("got %q", w.String())
	}
}

func TestAnswerIsShownByWholeLinesAndNewsBetweenThem(t *testing.T) {
	var w bytes.Buffer
	s := NewScreen(&w)
	at := func(want string) {
		t.Helper()
		if got := w.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	delta := func(text string) {
		s.Frame(protocol.Delta{TurnID: "t", Step: 1, Attempt: 1, Kind: "text", Text: text})
	}
	delta("one\ntw")
	at("one\n")
	s.Asked("/help")
	s.Frame(protocol.Command{Name: "help", OK: true, Text: "commands\n"})
	s.Frame(protocol.Notice{Text: "news"})
	at("one\ncommands\nnews\n")
	delta("o\nthree")
	s.Frame(protocol.Turn{TurnID: "t", Status: protocol.TurnCancelled})
	at("one\ncommands\nnews\ntwo\nthree\n")
}
