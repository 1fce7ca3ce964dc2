package strict_test

import (
	"strings"
	"testing"

	"picobot/internal/testkit/strict"
)

func call(id, arguments string) strict.Call {
	c := strict.Call{ID: id, Type: "function"}
	c.Function.Name, c.Function.Arguments = "x", arguments
	return c
}

func TestConversation(t *testing.T) {
	asks := func(calls ...strict.Call) strict.Row { return strict.Row{Role: "assistant", TurnID: "t", Calls: calls} }
	result := func(id string) strict.Row { return strict.Row{Role: "tool", ToolCallID: id, Content: "r", TurnID: "t"} }
	user := strict.Row{Role: "user", Content: "hi"}
	for name, c := range map[string]struct {
		rows []strict.Row
		want string // "" = sound
	}{
		"sound":               {[]strict.Row{user, asks(call("1", "{}"), call("2", `{"a":1}`)), result("1"), result("2"), {Role: "assistant", Content: "a"}}, ""},
		"running":             {[]strict.Row{user, asks(call("1", "{}"))}, "has no result"},
		"another order":       {[]strict.Row{asks(call("1", "{}"), call("2", "{}")), result("2"), result("1")}, `where that of "1" is due`},
		"a result twice":      {[]strict.Row{asks(call("1", "{}")), result("1"), result("1")}, "nobody waits for"},
		"a row between":       {[]strict.Row{asks(call("1", "{}")), user, result("1")}, "comes before the result"},
		"broken arguments":    {[]strict.Row{asks(call("1", "{broken")), result("1")}, "no JSON object"},
		"null arguments":      {[]strict.Row{asks(call("1", "null")), result("1")}, "no JSON object"},
		"an id twice":         {[]strict.Row{asks(call("1", "{}")), result("1"), asks(call("1", "{}")), result("1")}, "used before"},
		"an empty row":        {[]strict.Row{{Role: "user"}}, "is empty"},
		"an image only is ok": {[]strict.Row{{Role: "user", Media: true}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(strict.Conversation(c.rows, func(string) bool { return false }), "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if got := strict.Conversation([]strict.Row{user, asks(call("1", "{}"))}, func(string) bool { return true }); got != nil {
		t.Errorf("a running turn: %v", got)
	}
}
