package prompt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/chat"
	"picobot/internal/prompt"
)

// strict says what a strict provider would refuse about the messages.
func strict(messages []chat.Message) error {
	open := map[string]bool{}
	for i, m := range messages {
		if m.Role != chat.RoleTool && len(open) > 0 {
			return fmt.Errorf("message %d: calls %v have no result", i, open)
		}
		switch m.Role {
		case chat.RoleTool:
			if !open[m.ToolCallID] {
				return fmt.Errorf("message %d: result of an unknown call %q", i, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
		case chat.RoleAssistant:
			for _, c := range m.ToolCalls {
				if open[c.ID] {
					return fmt.Errorf("message %d: two calls have the id %q", i, c.ID)
				}
				open[c.ID] = true
				if c.Function.Arguments == "" || c.Function.Arguments[0] != '{' {
					return fmt.Errorf("message %d: arguments %q", i, c.Function.Arguments)
				}
			}
		}
		if m.Content == "" && len(m.ToolCalls) == 0 && len(m.Media) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("calls %v have no result", open)
	}
	return nil
}

// Whatever rows a session has, lost, doubled or out of place, the request is valid.
func TestMessages_AnyRows_AreAValidRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		step := 0
		row := rapid.Custom(func(t *rapid.T) chat.Message {
			m := chat.Message{
				Role:    rapid.SampledFrom([]chat.Role{chat.RoleSystem, chat.RoleUser, chat.RoleAssistant, chat.RoleTool}).Draw(t, "role"),
				Content: rapid.SampledFrom([]string{"", "text"}).Draw(t, "content"),
				Marker:  rapid.SampledFrom([]chat.Marker{"", "", chat.MarkerWelcome, chat.MarkerError}).Draw(t, "marker"),
			}
			switch m.Role {
			case chat.RoleTool:
				m.ToolCallID = fmt.Sprintf("s%d.%d", rapid.IntRange(0, 8).Draw(t, "of"), rapid.IntRange(0, 2).Draw(t, "pos"))
			case chat.RoleAssistant:
				step++
				for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
					m.ToolCalls = append(m.ToolCalls, chat.NewToolCall(fmt.Sprintf("s%d.%d", step, i), "x",
						rapid.SampledFrom([]string{"", "{}", "{broken", `"text"`}).Draw(t, "arguments")))
				}
			}
			return m
		})
		rows := rapid.SliceOfN(row, 0, 12).Draw(t, "rows")
		if err := strict(prompt.Messages(rows)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestMessages_CompleteTurn_IsUnchanged(t *testing.T) {
	rows := []chat.Message{
		{Role: chat.RoleSystem, Content: "be good", Marker: chat.MarkerAgentPrompt},
		{Role: chat.RoleUser, Content: "hello"},
		{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{chat.NewToolCall("a", "x", "{}"), chat.NewToolCall("b", "x", "{}")}},
		{Role: chat.RoleTool, Content: "A", ToolCallID: "a"},
		{Role: chat.RoleTool, Content: "B", ToolCallID: "b"},
		{Role: chat.RoleAssistant, Content: "done"},
	}
	require.Equal(t, rows, prompt.Messages(rows))
}

func TestEstimate_ChineseCountsATokenARune(t *testing.T) {
	ascii := prompt.Estimate([]chat.Message{{Content: strings.Repeat("a", 4000)}})
	chinese := prompt.Estimate([]chat.Message{{Content: strings.Repeat("字", 1000)}})
	require.Equal(t, ascii, chinese)
	require.InDelta(t, 1200, chinese, 10)
}

func TestAgentFile_Missing_IsMadeOnceAndEditsAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent", "AGENT.md")
	var wg sync.WaitGroup
	texts := make([]string, 8)
	for i := range texts {
		wg.Go(func() { texts[i], _ = prompt.NewAgentFile(path).Read() })
	}
	wg.Wait()
	for _, text := range texts {
		require.Contains(t, text, "You are PicoBot")
		require.Equal(t, texts[0], text)
	}
	require.NoError(t, os.WriteFile(path, []byte("be brief\n"), 0o600))
	text, err := prompt.NewAgentFile(path).Read()
	require.NoError(t, err)
	require.Equal(t, "be brief", text)
}

func TestAgentFile_TooLarge_IsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "AGENT.md")
	require.NoError(t, os.WriteFile(path, make([]byte, 300<<10), 0o600))
	_, err := prompt.NewAgentFile(path).Read()
	require.ErrorContains(t, err, "shorten it")
}

func TestAgentFile_NoRegularFile_IsRefusedAtOnce(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{pipe, dir} {
		_, err := prompt.NewAgentFile(path).Read()
		require.ErrorContains(t, err, "no file")
	}
}
