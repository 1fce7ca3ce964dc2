package prompt_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/chat"
	"picobot/internal/prompt"
)

var berlin = func() *time.Location {
	z, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	return z
}()

func dated(at string, role chat.Role, content string, marker chat.Marker) prompt.Dated {
	when, err := time.Parse(time.RFC3339, at)
	if err != nil {
		panic(err)
	}
	return prompt.Dated{Message: chat.Message{Role: role, Content: content, Marker: marker}, At: when}
}

func TestWithDays_TellsPlaceOnceAndEachNewDay(t *testing.T) {
	rows := []prompt.Dated{
		dated("2026-03-28T20:00:00Z", chat.RoleSystem, "hi there", chat.MarkerWelcome),
		dated("2026-03-28T20:00:00Z", chat.RoleSystem, "you are PicoBot", chat.MarkerAgentPrompt),
		dated("2026-03-28T20:00:00Z", chat.RoleUser, "one", ""),
		dated("2026-03-28T20:00:00Z", chat.RoleAssistant, "1", ""),
		dated("2026-03-28T22:59:59Z", chat.RoleUser, "two", ""),   // 23:59:59 in Berlin
		dated("2026-03-28T23:00:00Z", chat.RoleUser, "three", ""), // midnight there
		dated("2026-03-29T21:59:59Z", chat.RoleUser, "four", ""),  // the clock has been put forward
		dated("2026-03-29T22:00:00Z", chat.RoleUser, "five", ""),
	}
	require.Equal(t, []chat.Message{
		{Role: chat.RoleSystem, Content: "hi there", Marker: chat.MarkerWelcome},
		{Role: chat.RoleSystem, Marker: chat.MarkerAgentPrompt,
			Content: "you are PicoBot\n\n[The person writes through the channel \"feishu\". Today is Saturday, 28 March 2026, in the time zone Europe/Berlin. get_time tells the time.]"},
		{Role: chat.RoleUser, Content: "one"},
		{Role: chat.RoleAssistant, Content: "1"},
		{Role: chat.RoleUser, Content: "two"},
		{Role: chat.RoleSystem, Content: "[Today is Sunday, 29 March 2026.]"},
		{Role: chat.RoleUser, Content: "three"},
		{Role: chat.RoleUser, Content: "four"},
		{Role: chat.RoleSystem, Content: "[Today is Monday, 30 March 2026.]"},
		{Role: chat.RoleUser, Content: "five"},
	}, prompt.WithDays(rows, prompt.Place{Channel: "feishu", Zone: berlin}))
}

func TestWithDays_NoAgentPromptBeforeTheMessage_IsAMessageOfItsOwn(t *testing.T) {
	for _, before := range [][]prompt.Dated{nil, {dated("2026-03-28T20:00:00Z", chat.RoleSystem, "hi there", chat.MarkerWelcome)}} {
		out := prompt.Messages(prompt.WithDays(append(before, dated("2026-03-28T20:00:00Z", chat.RoleUser, "one", "")), prompt.Place{Channel: "cli", Zone: time.UTC}))
		require.Len(t, out, 2)
		require.Contains(t, out[0].Content, "Saturday, 28 March 2026")
	}
}

// The machine's own zone has no name.
func TestWithDays_ZoneOfTheMachine_IsToldByItsOffset(t *testing.T) {
	out := prompt.WithDays([]prompt.Dated{dated("2026-03-28T20:00:00Z", chat.RoleUser, "one", "")}, prompt.Place{Zone: time.Local})
	require.Regexp(t, `in the time zone UTC[+-]\d\d:\d\d\.`, out[0].Content)
}

// Property: what a provider has cached stays good, the request of a longer conversation
// begins with that of a shorter one.
func TestWithDays_LongerConversation_BeginsWithTheShorterOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC)
		var rows []prompt.Dated
		for range rapid.IntRange(1, 12).Draw(t, "rows") {
			at = at.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "hours")) * time.Hour)
			rows = append(rows, prompt.Dated{At: at, Message: chat.Message{
				Role:    rapid.SampledFrom([]chat.Role{chat.RoleSystem, chat.RoleUser, chat.RoleAssistant}).Draw(t, "role"),
				Marker:  rapid.SampledFrom([]chat.Marker{"", chat.MarkerAgentPrompt}).Draw(t, "marker"),
				Content: "x"}})
		}
		n := rapid.IntRange(1, len(rows)).Draw(t, "shorter")
		// A request ends with what the person said; before that it is not one.
		if rows[n-1].Role != chat.RoleUser {
			return
		}
		place := prompt.Place{Channel: "cli", Zone: berlin}
		whole, part := prompt.WithDays(rows, place), prompt.WithDays(slices.Clone(rows[:n]), place)
		require.Equal(t, part, whole[:len(part)])
	})
}
