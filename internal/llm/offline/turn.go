package offline

import (
	"fmt"
	"strings"

	"picobot/internal/chat"
	"picobot/internal/llm"
)

// turn is what counts of a request: the last user message and what came after it.
type turn struct {
	text    string
	images  int
	results []string // "NAME: RESULT" of every tool result, in order
}

func readTurn(messages []llm.Message) turn {
	var t turn
	names := map[string]string{} // call id to tool name
	for _, m := range messages {
		switch m.Role {
		case chat.RoleUser:
			t = turn{text: strings.TrimSpace(m.Content), images: len(m.Images)}
			clear(names)
		case chat.RoleAssistant:
			for _, c := range m.ToolCalls {
				names[c.ID] = c.Function.Name
			}
		case chat.RoleTool:
			name := m.ToolName
			if name == "" {
				name = names[m.ToolCallID]
			}
			t.results = append(t.results, name+": "+strings.TrimSpace(m.Content))
		}
	}
	return t
}

// echo repeats the user. A message of pictures only has no text to repeat.
func (t turn) echo() string {
	if t.text == "" && t.images > 0 {
		return fmt.Sprintf("echo: [%d image(s)]", t.images)
	}
	return "echo: " + t.text
}
