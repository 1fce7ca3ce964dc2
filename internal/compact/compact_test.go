package compact_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/chat"
	"picobot/internal/compact"
	"picobot/internal/prompt"
)

func TestCorrected_ByWhatTheProviderReported(t *testing.T) {
	require.Equal(t, 1000, compact.Corrected(1000, 0, 0), "nothing is known")
	require.Equal(t, 1500, compact.Corrected(1000, 200, 300))
	require.Equal(t, 800, compact.Corrected(1000, 500, 400))
	require.Equal(t, 500, compact.Corrected(1000, 10_000, 1), "not believed")
}

func TestLarge_IsAboveTheThreshold(t *testing.T) {
	require.False(t, compact.Large(500, 0.5, 1000))
	require.True(t, compact.Large(501, 0.5, 1000))
	require.False(t, compact.Large(501, 0.5, 0), "a window that nobody knows")
}

func TestWorth_IsAFifth(t *testing.T) {
	require.True(t, compact.Worth(100, 80))
	require.False(t, compact.Worth(100, 81))
	require.False(t, compact.Worth(100, 120))
	require.False(t, compact.Worth(0, 0))
}

func TestResting_AfterThreeTries_UntilGrownByHalf(t *testing.T) {
	require.False(t, compact.Resting(2, 100, 100))
	require.True(t, compact.Resting(3, 100, 149))
	require.False(t, compact.Resting(3, 100, 150))
}

// newest adds messages as they come: the newest first.
func newest(t *compact.Transcript, messages ...chat.Message) *compact.Transcript {
	for i := len(messages) - 1; i >= 0; i-- {
		t.Add(messages[i])
	}
	return t
}

func TestTranscript_SaysWhoSaidWhat_InOrder(t *testing.T) {
	tr := newest(compact.NewTranscript(1000),
		chat.Message{Role: chat.RoleSystem, Marker: chat.MarkerHistoryCompaction, Content: "[Compressed History]\nthey met"},
		chat.Message{Role: chat.RoleAssistant, Marker: chat.MarkerOutbound, Content: "good morning"},
		chat.Message{Role: chat.RoleUser, Content: "build it", Media: []chat.MediaRef{{Type: "image"}}},
		chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{chat.NewToolCall("1", "bash", `{"command":"make"}`)}},
		chat.Message{Role: chat.RoleTool, ToolName: "bash", ToolCallID: "1", Content: "make: *** error"},
		chat.Message{Role: chat.RoleAssistant, Content: "no model answered", Marker: chat.MarkerError},
	)
	require.Equal(t, strings.Join([]string{
		"[Compressed History]\nthey met",
		"[sent to the person by the system] good morning",
		"[person] build it (an image)",
		`[call of bash] {"command":"make"}`,
		"[result of bash] make: *** error",
		"[this failed] no model answered",
	}, "\n\n"), tr.Text(1000))
}

func TestTranscript_TooLong_KeepsTheNewestAndTheEarlierSummary(t *testing.T) {
	tr := compact.NewTranscript(1000)
	for range 100 {
		tr.Add(chat.Message{Role: chat.RoleUser, Content: strings.Repeat("x", 396)})
	}
	tr.Add(chat.Message{Role: chat.RoleSystem, Marker: chat.MarkerHistoryCompaction, Content: "[Compressed History]\nthey met"})
	text := tr.Text(1000)
	require.True(t, strings.HasPrefix(text, "[Compressed History]\nthey met\n\n(91 older entries are left out here)"), text[:80])
	require.Equal(t, 9, strings.Count(text, "[person]"))
	require.Equal(t, 3, strings.Count(tr.Text(200), "[person]"), "less of it later")
}

// Property: whatever was said, a transcript and a row keep to their budget, and are text.
func TestTranscript_OfAnything_KeepsToItsBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := compact.NewTranscript(rapid.IntRange(0, 3000).Draw(t, "max"))
		for range rapid.IntRange(0, 30).Draw(t, "messages") {
			m := chat.Message{
				Role:    rapid.SampledFrom([]chat.Role{chat.RoleUser, chat.RoleAssistant, chat.RoleTool, chat.RoleSystem}).Draw(t, "role"),
				Content: strings.Repeat(rapid.String().Draw(t, "content"), rapid.IntRange(0, 200).Draw(t, "times")),
				Marker:  rapid.SampledFrom([]chat.Marker{"", "", chat.MarkerError, chat.MarkerHistoryCompaction}).Draw(t, "marker"),
			}
			if m.Role == chat.RoleAssistant && rapid.Bool().Draw(t, "calls") {
				m.ToolCalls = []chat.ToolCall{chat.NewToolCall("1", "bash", rapid.String().Draw(t, "arguments"))}
			}
			tr.Add(m)
		}
		budget := rapid.IntRange(50, 3000).Draw(t, "budget")
		text := tr.Text(budget)
		require.LessOrEqual(t, prompt.TextWeight(text), 4*budget+200)
		require.True(t, utf8.ValidString(text))
		row := compact.Row(text, budget)
		require.LessOrEqual(t, prompt.TextWeight(row), 4*budget+4*len(compact.Heading))
		require.True(t, strings.HasPrefix(row, compact.Heading+"\n"))
	})
}

func TestRow_HasItsHeadingOnce(t *testing.T) {
	require.Equal(t, "[Compressed History]\nthey met", compact.Row(" [Compressed History]\n\nthey met \n", 100))
}

func TestRequest_AsksForWhatMustNotBeLost(t *testing.T) {
	req := compact.Request("[person] hi")
	require.Len(t, req, 2)
	for _, word := range []string{"asked for", "identifiers", "paths", "URLs", "tools were called", "commands", "came out", "errors", "decisions", "preferences", "current state", "[Compressed History]"} {
		require.Contains(t, req[0].Content, word)
	}
	require.Contains(t, req[1].Content, "<transcript>\n[person] hi\n</transcript>")
}

func TestMaxTranscript_SoShortThatItIsWorthIt(t *testing.T) {
	require.Equal(t, 1000, compact.MaxTranscript(8000, 40_000, 20_000))
	require.Equal(t, 500, compact.MaxTranscript(8000, 40_000, 12_000))
	require.Equal(t, 100, compact.MaxTranscript(8000, 40_000, 8_000))
}
