package anthropic_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/testkit/fakeanthropic"
)

// The fake compares every thought that comes back with what it sent: its signature,
// its text and its place.
func TestThoughts_GoBackAsAndWhereTheyWere(t *testing.T) {
	call := func(id string) fakeanthropic.Block {
		return fakeanthropic.Block{Type: "tool_use", ID: id, Name: "get_time", Input: "{}"}
	}
	thought := func(s string) fakeanthropic.Block { return fakeanthropic.Block{Type: "thinking", Text: s} }
	said := func(s string) fakeanthropic.Block { return fakeanthropic.Block{Type: "text", Text: s} }
	for name, blocks := range map[string][]fakeanthropic.Block{
		"before everything":       {thought("a <b> & \"c\" 世界"), said("x"), call("1")},
		"without its text":        {{Type: "thinking", Signature: fakeanthropic.Sign("claude-sonnet-5-5", "")}, call("1")},
		"several, one hidden":     {thought("a"), {Type: "redacted_thinking", Data: "hidden"}, thought("b"), call("1")},
		"only hidden":             {{Type: "redacted_thinking", Data: "hidden"}, said("x"), call("1")},
		"between texts":           {thought("a"), said("世"), thought("b"), said("界"), call("1")},
		"between calls":           {thought("a"), call("1"), thought("b"), call("2"), call("3")},
		"behind a call":           {thought("a"), call("1"), thought("b")},
		"text between calls":      {thought("a"), call("1"), said("x"), call("2")},
		"all over":                {said("0"), thought("a"), said("x"), call("1"), thought("b"), {Type: "redacted_thinking", Data: "h"}, said("y"), call("2")},
		"a text that looks alike": {thought(`{"_signed":{"by":"x"}}`), said(`{"_signed":`), call("1")},
	} {
		t.Run(name, func(t *testing.T) {
			server := fakeanthropic.Start(t, fakeanthropic.Config{})
			p := connect(t)(server.URL())
			req := ask("hi")
			req.Tools = clock
			server.Enqueue(fakeanthropic.Reply{Blocks: blocks})
			got, err := p.Complete(t.Context(), req, nil)
			require.NoError(t, err)
			req.Messages = append(req.Messages, answered(got))
			for _, c := range got.ToolCalls {
				req.Messages = append(req.Messages, result(c.ID, "noon"))
			}
			_, err = p.Complete(t.Context(), req, nil)
			require.NoError(t, err)
			require.Empty(t, server.Refused())
			var want []string
			for _, b := range blocks {
				want = append(want, b.Type)
			}
			require.Equal(t, want, server.Requests()[1].Messages[1].Types())
		})
	}
}

func TestThoughts_AnyOrder_ComesBackUnchanged(t *testing.T) {
	server := fakeanthropic.Start(t, fakeanthropic.Config{TextPiece: 3})
	p := connect(t)(server.URL())
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		block := rapid.Custom(func(rt *rapid.T) fakeanthropic.Block {
			n++
			switch rapid.SampledFrom([]string{"text", "thinking", "redacted_thinking", "tool_use"}).Draw(rt, "type") {
			case "text":
				// Texts side by side are one text to whoever reads them.
				return fakeanthropic.Block{Type: "text", Text: rapid.StringMatching(`[a-z世界]{1,6}`).Draw(rt, "text")}
			case "thinking":
				return fakeanthropic.Block{Type: "thinking", Text: rapid.StringMatching(`[a-z世界{}"<\n]{1,6}`).Draw(rt, "thought")}
			case "redacted_thinking":
				return fakeanthropic.Block{Type: "redacted_thinking", Data: "hidden"}
			}
			return fakeanthropic.Block{Type: "tool_use", ID: "call_" + string(rune('a'+n%26)) + rapid.StringMatching(`[a-z]{12}`).Draw(rt, "id"), Name: "get_time", Input: `{"a":1}`}
		})
		var blocks []fakeanthropic.Block
		for _, b := range rapid.SliceOfN(block, 1, 7).Draw(rt, "blocks") {
			if k := len(blocks); k > 0 && b.Type == "text" && blocks[k-1].Type == "text" {
				continue
			}
			blocks = append(blocks, b)
		}
		blocks = append(blocks, fakeanthropic.Block{Type: "tool_use", ID: "last_" + rapid.StringMatching(`[a-z]{12}`).Draw(rt, "last"), Name: "get_time", Input: "{}"})
		req := ask("hi")
		req.Tools = clock
		server.Enqueue(fakeanthropic.Reply{Blocks: blocks})
		got, err := p.Complete(t.Context(), req, nil)
		if err != nil {
			rt.Fatal(err)
		}
		req.Messages = append(req.Messages, answered(got))
		for _, c := range got.ToolCalls {
			req.Messages = append(req.Messages, result(c.ID, "noon"))
		}
		if _, err = p.Complete(t.Context(), req, nil); err != nil {
			rt.Fatalf("%+v was stored as %s: %v", blocks, got.ReasoningContent, err)
		}
		if refused := server.Refused(); len(refused) > 0 {
			rt.Fatal(refused)
		}
	})
}

func TestThoughts_OfAnotherModel_AreNotSent(t *testing.T) {
	for name, row := range map[string]struct {
		reasoning, mode string
		extra           map[string]json.RawMessage
	}{
		"another provider's text": {reasoning: "hm", mode: "echo"},
		"another model's":         {reasoning: chat.Reasoning{By: "anthropic claude-opus-4-5", Blocks: []chat.ReasoningBlock{{Text: "hm", Signature: "theirs"}}}.Stored()},
		"another vendor's":        {reasoning: chat.Reasoning{By: "gemini x", Blocks: []chat.ReasoningBlock{{Text: "hm", Signature: "theirs"}}}.Stored()},
		"its own, to be dropped":  {mode: "drop", reasoning: chat.Reasoning{By: "anthropic claude-sonnet-5-5", Blocks: []chat.ReasoningBlock{{Text: "hm", Signature: fakeanthropic.Sign("claude-sonnet-5-5", "hm")}}}.Stored()},
		"its own, cut off":        {reasoning: chat.Reasoning{By: "anthropic claude-sonnet-5-5", Blocks: []chat.ReasoningBlock{{Text: "hm"}}}.Stored()},
		// The API wants every step of a turn to begin with a thought once thinking is
		// enabled, and there is none.
		"another model's, while thinking": {reasoning: "hm", extra: map[string]json.RawMessage{"thinking": json.RawMessage(`{"type":"enabled","budget_tokens":2000}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			req := ask("hi")
			req.Tools = clock
			req.Model.Reasoning, req.Model.Extra = row.mode, row.extra
			thinker := answered(llm.Response{Content: "x", ReasoningContent: row.reasoning, ToolCalls: []chat.ToolCall{chat.NewToolCall("a", "get_time", "{}")}})
			req.Messages = append(req.Messages, thinker, result("a", "noon"))
			got := sent(t, req)
			require.Equal(t, []string{"text", "tool_use"}, got.Messages[1].Types())
			require.Empty(t, got.Thinking)

			req.Messages = append(req.Messages, message(chat.RoleAssistant, "noon"), message(chat.RoleUser, "thanks"))
			if row.extra != nil {
				require.Equal(t, "enabled", sent(t, req).Thinking, "the next turn thinks again")
			}
		})
	}
}

// A session must not be bricked by a signature that is not taken any more.
func TestThoughts_ThatTheEndpointRefuses_AreLeftOut(t *testing.T) {
	server := fakeanthropic.Start(t, fakeanthropic.Config{})
	req := ask("hi")
	req.Tools = clock
	req.Model.Extra = map[string]json.RawMessage{"thinking": json.RawMessage(`{"type":"enabled","budget_tokens":2000}`)}
	stale := chat.Reasoning{By: "anthropic claude-sonnet-5-5", Blocks: []chat.ReasoningBlock{{Text: "hm", Signature: "of last year"}}}.Stored()
	req.Messages = append(req.Messages, answered(llm.Response{ReasoningContent: stale, ToolCalls: []chat.ToolCall{chat.NewToolCall("a", "get_time", "{}")}}), result("a", "noon"))
	got, err := connect(t)(server.URL()).Complete(t.Context(), req, nil)
	require.NoError(t, err)
	require.Equal(t, "echo: hi", got.Content)
	require.Len(t, server.Refused(), 1)
	require.Equal(t, []string{"tool_use"}, server.Requests()[1].Messages[1].Types())
}

func TestThoughts_UnsignedOnesOfCompatibleServers_GoBack(t *testing.T) {
	server := fakeanthropic.Start(t, fakeanthropic.Config{})
	server.Enqueue(events(start, `data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"hm"}}`+"\n\n",
		`data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"get_time","input":{}}}`+"\n\n", finish))
	server.Handle(func(fakeanthropic.Request) fakeanthropic.Step { return fakeanthropic.Reply{Text: "done"} })
	p := connect(t)(server.URL())
	req := ask("hi")
	req.Model.ID = "kimi-k2-thinking"
	req.Tools = clock
	got, err := p.Complete(t.Context(), req, nil)
	require.NoError(t, err)
	require.Equal(t, "hm", chat.ReasoningText(got.ReasoningContent))
	req.Messages = append(req.Messages, answered(got), result("a", "noon"))
	// The fake is Anthropic's and refuses it, upon which it is left out.
	_, err = p.Complete(t.Context(), req, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"thinking", "tool_use"}, server.Requests()[1].Messages[1].Types())
}

func TestThoughts_AreShownApart(t *testing.T) {
	server := fakeanthropic.Start(t, fakeanthropic.Config{})
	server.Enqueue(fakeanthropic.Reply{Blocks: []fakeanthropic.Block{{Type: "thinking", Text: "one"}, {Type: "redacted_thinking", Data: "hidden"}, {Type: "text", Text: "x"}, {Type: "thinking", Text: "two"}}})
	var shown string
	got, err := connect(t)(server.URL()).Complete(t.Context(), ask("hi"), func(d llm.Delta) {
		if d.Kind == llm.DeltaReasoning {
			shown += d.Text
		}
	})
	require.NoError(t, err)
	require.Equal(t, "one\n\ntwo", shown)
	require.Equal(t, shown, chat.ReasoningText(got.ReasoningContent))
}
