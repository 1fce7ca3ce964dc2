package prompt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/chat"
	"picobot/internal/prompt"
)

// talk makes conversations.
type talk struct{ messages []chat.Message }

func (c *talk) system(content string) {
	c.messages = append(c.messages, chat.Message{Role: chat.RoleSystem, Content: content})
}

func (c *talk) turn(user string, steps int, result string) {
	c.messages = append(c.messages, chat.Message{Role: chat.RoleUser, Content: user})
	for i := range steps {
		id := fmt.Sprintf("%s%d", user, i)
		c.messages = append(c.messages, chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{chat.NewToolCall(id, "x", "{}")}},
			chat.Message{Role: chat.RoleTool, Content: result, ToolCallID: id, ToolName: "x"})
	}
}

func (c *talk) answer(text string) {
	c.messages = append(c.messages, chat.Message{Role: chat.RoleAssistant, Content: text})
}

func keep(m chat.Message) (string, error) { return "file-" + m.ToolCallID, nil }

func contents(messages []chat.Message, role chat.Role) (out []string) {
	for _, m := range messages {
		if m.Role == role {
			out = append(out, m.Content)
		}
	}
	return out
}

func TestFit_EarlierTurnsGoFirst_OldestFirst(t *testing.T) {
	c := &talk{}
	c.system("you are PicoBot")
	for _, user := range []string{"one", "two", "three"} {
		c.turn(user, 1, strings.Repeat("x", 4000))
		c.answer("done")
	}
	c.turn("now", 2, strings.Repeat("y", 4000))
	out, err := prompt.Fit(c.messages, false, prompt.Estimate(c.messages)-1400, keep)
	require.NoError(t, err)
	require.Equal(t, []string{"three", "now"}, contents(out, chat.RoleUser))
	require.Equal(t, chat.RoleSystem, out[1].Role, "a line says that something is missing")
	require.Equal(t, []string{strings.Repeat("x", 4000), strings.Repeat("y", 4000), strings.Repeat("y", 4000)}, contents(out, chat.RoleTool))
	require.NoError(t, strict(out))
}

func TestFit_LongTurn_ItsOldestResultsBecomeStubs(t *testing.T) {
	c := &talk{}
	c.turn("new", 4, strings.Repeat("x", 4000))
	before := append([]chat.Message(nil), c.messages...)
	out, err := prompt.Fit(c.messages, false, prompt.Estimate(c.messages)-1500, keep)
	require.NoError(t, err)
	require.Equal(t, before, c.messages, "the rows are untouched")
	results := contents(out, chat.RoleTool)
	require.Len(t, results, 4)
	require.Contains(t, results[0], "file-new0")
	require.Contains(t, results[1], "file-new1")
	require.Equal(t, before[6].Content, results[2])
	require.Equal(t, before[8].Content, results[3])
}

// An agent that works for hours makes more calls than a window holds even as stubs.
func TestFit_TurnOfHours_LosesItsOldestSteps(t *testing.T) {
	c := &talk{}
	c.system("you are PicoBot")
	c.turn("work for hours", 3000, strings.Repeat("x", 400))
	out, err := prompt.Fit(c.messages, false, 20_000, keep)
	require.NoError(t, err)
	require.LessOrEqual(t, prompt.Estimate(out), 20_000)
	require.Greater(t, prompt.Estimate(out), 15_000, "no more is left out than must be")
	require.Equal(t, []string{"work for hours"}, contents(out, chat.RoleUser))
	require.Equal(t, c.messages[len(c.messages)-2:], out[len(out)-2:], "the newest step is whole")
	require.NoError(t, strict(out))
}

// Property: whatever the conversation and the window, the request is valid, in order,
// holds what must be there, and fits if anything does.
func TestFit_AnyConversation_AnyWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &talk{}
		size := rapid.IntRange(1, 3000)
		c.system("you are PicoBot")
		for i := range rapid.IntRange(0, 6).Draw(t, "turns") {
			c.turn(fmt.Sprintf("turn%d", i), rapid.IntRange(0, 3).Draw(t, "steps"), strings.Repeat("r", size.Draw(t, "result")))
			c.answer(strings.Repeat("a", size.Draw(t, "answer")))
			if rapid.Bool().Draw(t, "system row") {
				c.system(fmt.Sprintf("note %d", i))
			}
		}
		c.turn("now", rapid.IntRange(0, 5).Draw(t, "steps now"), strings.Repeat("r", size.Draw(t, "result")))
		window := rapid.IntRange(1, 2*prompt.Estimate(c.messages)).Draw(t, "window")
		out, err := prompt.Fit(c.messages, false, window, keep)
		require.NoError(t, err)
		require.NoError(t, strict(out))

		users := contents(out, chat.RoleUser)
		require.Equal(t, "now", users[len(users)-1])
		last := c.messages[len(c.messages)-1]
		require.Equal(t, last, out[len(out)-1])
		require.Subset(t, contents(out, chat.RoleSystem), contents(c.messages, chat.RoleSystem))
		at := 0
		for _, m := range out { // in order, and nothing that was not there but stubs and the line
			for i := at; i < len(c.messages); i++ {
				if c.messages[i].Role == m.Role && (c.messages[i].Content == m.Content && m.Role != chat.RoleTool || m.Role == chat.RoleTool && c.messages[i].ToolCallID == m.ToolCallID) {
					at = i + 1
					break
				}
			}
		}
		if prompt.Estimate(c.messages) <= window {
			require.Equal(t, c.messages, out)
		} else if prompt.Estimate(out) > window {
			var least []chat.Message
			for _, m := range out {
				if m.Role == chat.RoleSystem {
					least = append(least, m)
				}
			}
			require.LessOrEqual(t, len(out)-len(least), 3, "only what must stay is too much: the message and the newest step")
		}
	})
}

// What the record left out is missing as well.
func TestFit_EarlierTurnsWereNotRead_ALineSaysSo(t *testing.T) {
	c := &talk{}
	c.system("you are PicoBot")
	c.turn("now", 1, "result")
	for _, window := range []int{0, 10_000} {
		out, err := prompt.Fit(c.messages, true, window, keep)
		require.NoError(t, err)
		require.Len(t, out, len(c.messages)+1)
		require.Equal(t, chat.RoleSystem, out[1].Role)
		require.Contains(t, out[1].Content, "left out")
		require.Equal(t, c.messages[1:], out[2:])
		require.NoError(t, strict(out))
	}
}
