package prompt

import (
	"picobot/internal/chat"
)

// lostResult stands in for a result that is not in the record.
const lostResult = "Error: the result of this call was lost."

// Messages turns rows into the messages a model is told, valid for a strict
// provider whatever state the rows are in: welcome rows are left out, every tool
// call is followed at once by exactly one result, results without a call are
// dropped, and nothing is empty that must not be.
func Messages(rows []chat.Message) []chat.Message {
	out := make([]chat.Message, 0, len(rows))
	for i := 0; i < len(rows); i++ {
		m := rows[i]
		switch {
		case m.Marker == chat.MarkerWelcome:
		case m.Role == chat.RoleTool:
			// Results that belong to a call are taken below, with their call.
		case m.Role == chat.RoleAssistant && len(m.ToolCalls) > 0:
			out = append(out, valid(m))
			out = append(out, results(m.ToolCalls, rows[i+1:])...)
		case m.Content == "" && len(m.Media) == 0:
			// A row without contents says nothing, and providers refuse it.
		default:
			out = append(out, m)
		}
	}
	return out
}

// valid returns an assistant message whose calls a strict provider takes.
func valid(m chat.Message) chat.Message {
	calls := make([]chat.ToolCall, len(m.ToolCalls))
	for i, c := range m.ToolCalls {
		c.Type = "function"
		c.Function.Arguments = chat.StoredArguments(c.Function.Arguments)
		calls[i] = c
	}
	m.ToolCalls = calls
	return m
}

// results returns one tool message per call, from the tool rows that follow the
// call before the next user or assistant row.
func results(calls []chat.ToolCall, following []chat.Message) []chat.Message {
	byID := map[string]chat.Message{}
	for _, m := range following {
		if m.Role == chat.RoleUser || m.Role == chat.RoleAssistant {
			break
		}
		if m.Role != chat.RoleTool {
			continue
		}
		if _, twice := byID[m.ToolCallID]; !twice {
			byID[m.ToolCallID] = m
		}
	}
	out := make([]chat.Message, len(calls))
	for i, c := range calls {
		m, ok := byID[c.ID]
		if !ok {
			m = chat.Message{Role: chat.RoleTool, Content: lostResult, ToolCallID: c.ID, ToolName: c.Function.Name}
		}
		if m.Content == "" {
			m.Content = "(no output)"
		}
		out[i] = m
	}
	return out
}
