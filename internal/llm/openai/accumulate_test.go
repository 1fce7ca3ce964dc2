package openai

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/llm/endpoint"
)

// style is one server's way of writing calls into chunks.
type style struct {
	index     string // each | zero | none
	ids       bool
	repeat    bool // id and name with every piece
	interlace bool // pieces of several calls mixed; needs an index for each
}

func drawStyle(t *rapid.T) style {
	s := style{index: rapid.SampledFrom([]string{"each", "zero", "none"}).Draw(t, "index"), ids: rapid.Bool().Draw(t, "ids"), repeat: rapid.Bool().Draw(t, "repeat")}
	s.interlace = s.index == "each" && rapid.Bool().Draw(t, "interlace")
	if !s.ids {
		// A name that comes again, on its own, cannot be told from the next call's.
		s.repeat = false
	}
	return s
}

func drawCalls(t *rapid.T) []chat.ToolCall {
	value := rapid.Custom(func(t *rapid.T) string {
		object := rapid.MapOfN(rapid.StringN(1, 5, -1), rapid.String(), 0, 3).Draw(t, "arguments")
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	})
	n := rapid.IntRange(0, 5).Draw(t, "calls")
	var calls []chat.ToolCall
	for i := range n {
		name := rapid.SampledFrom([]string{"get_time", "calculator", "bash"}).Draw(t, "name")
		calls = append(calls, chat.NewToolCall("id-"+strconv.Itoa(i), name, value.Draw(t, "value")))
	}
	return calls
}

// cutUp writes calls as pieces, cut anywhere between bytes of the JSON that carries
// no rune across (a server cuts between tokens, which are whole runes).
func cutUp(t *rapid.T, calls []chat.ToolCall, s style) [][]toolCall {
	queues := make([][]toolCall, len(calls))
	for i, c := range calls {
		header := func() toolCall {
			h := toolCall{Function: function{Name: text(c.Function.Name)}}
			if s.ids {
				h.ID = text(c.ID)
			}
			return h
		}
		first := header()
		rest := []rune(c.Function.Arguments)
		n := rapid.IntRange(0, len(rest)).Draw(t, "first")
		first.Function.Arguments, rest = arguments(rest[:n]), rest[n:]
		queues[i] = []toolCall{first}
		for len(rest) > 0 {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			var piece toolCall
			if s.repeat {
				piece = header()
			}
			piece.Function.Arguments, rest = arguments(rest[:n]), rest[n:]
			queues[i] = append(queues[i], piece)
		}
		for j := range queues[i] {
			switch s.index {
			case "each":
				queues[i][j].Index = new(number(i))
			case "zero":
				queues[i][j].Index = new(number(0))
			}
		}
	}
	var chunks [][]toolCall
	for {
		var open []int
		for i, q := range queues {
			if len(q) > 0 {
				open = append(open, i)
			}
		}
		if len(open) == 0 {
			return chunks
		}
		i := open[0]
		if s.interlace {
			// Calls begin in order whatever follows, as everywhere.
			i = rapid.SampledFrom(open).Draw(t, "next")
			for _, earlier := range open {
				if earlier < i && len(queues[earlier]) > 0 && queues[earlier][0].Function.Name != "" && !started(chunks, earlier) {
					i = earlier
					break
				}
			}
		}
		piece := queues[i][0]
		queues[i] = queues[i][1:]
		// Several pieces in one delta, now and then.
		if len(chunks) > 0 && rapid.IntRange(0, 3).Draw(t, "join") == 0 {
			chunks[len(chunks)-1] = append(chunks[len(chunks)-1], piece)
			continue
		}
		chunks = append(chunks, []toolCall{piece})
	}
}

func started(chunks [][]toolCall, index int) bool {
	for _, chunk := range chunks {
		for _, piece := range chunk {
			if piece.Index != nil && int(*piece.Index) == index {
				return true
			}
		}
	}
	return false
}

func TestAnyChunkingOfTheSameCallsIsTheSameAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawCalls(t)
		s := drawStyle(t)
		said := []rune(rapid.String().Draw(t, "said"))
		var acc accumulator
		var deltas string
		onDelta := func(d llm.Delta) { deltas += d.Text }
		for len(said) > 0 {
			n := rapid.IntRange(1, len(said)).Draw(t, "text")
			add(t, &acc, message{Content: content{text: string(said[:n])}}, onDelta)
			said = said[n:]
		}
		for _, pieces := range cutUp(t, want, s) {
			add(t, &acc, message{ToolCalls: pieces}, onDelta)
		}
		acc.addReason("stop")
		got, err := acc.finish(true)
		if err != nil {
			t.Fatal(err)
		}
		if !s.ids {
			for i := range want {
				want[i].ID = "call_" + strconv.Itoa(i+1)
			}
		}
		if diff := cmp.Diff(want, got.ToolCalls); diff != "" {
			t.Fatalf("style %+v:\n%s", s, diff)
		}
		if deltas != got.Content {
			t.Fatalf("deltas %q are not the content %q", deltas, got.Content)
		}
	})
}

func add(t *rapid.T, acc *accumulator, m message, onDelta func(llm.Delta)) {
	if err := acc.add(reply{Choices: []choice{{Delta: &m}}}, onDelta); err != nil {
		t.Fatal(err)
	}
}

func TestIDsAreNeverEmptyAndNeverRepeated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "a_2", "call_1", "call_2", "call_2_2"}), 0, 12).Draw(t, "ids")
		var acc accumulator
		for _, id := range ids {
			e := &entry{index: -1, id: id, name: "f"}
			acc.calls = append(acc.calls, e)
		}
		calls, err := acc.toolCalls()
		if err != nil || len(calls) != len(ids) {
			t.Fatalf("%d of %d calls, %v", len(calls), len(ids), err)
		}
		seen := map[string]bool{}
		for i, c := range calls {
			if c.ID == "" || seen[c.ID] {
				t.Fatalf("ids %q became %v", ids, calls)
			}
			if first := !slices.Contains(ids[:i], ids[i]); ids[i] != "" && first && c.ID != ids[i] {
				t.Fatalf("id %q was changed to %q for no reason", ids[i], c.ID)
			}
			seen[c.ID] = true
		}
	})
}

func TestTheReasonThatSaysMostIsKept(t *testing.T) {
	for _, row := range []struct {
		reasons []string
		want    string
	}{
		{[]string{"tool_calls", "stop"}, "tool_calls"},
		{[]string{"length", "stop", ""}, "length"},
		{[]string{"stop", "content_filter"}, "content_filter"},
		{[]string{"null", "stop", "stop"}, "stop"},
	} {
		var acc accumulator
		for _, reason := range row.reasons {
			acc.addReason(reason)
		}
		require.Equal(t, row.want, acc.reason)
	}
}

func TestARunawayAnswerEnds(t *testing.T) {
	var acc accumulator
	m := message{Content: content{text: strings.Repeat("x", 1<<20)}}
	var err error
	for range 33 {
		if err = acc.add(reply{Choices: []choice{{Delta: &m}}}, func(llm.Delta) {}); err != nil {
			break
		}
	}
	require.Equal(t, endpoint.TooLarge(), err)
}
