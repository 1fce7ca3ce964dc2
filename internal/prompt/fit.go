package prompt

import (
	"fmt"
	"slices"

	"picobot/internal/chat"
)

// Fit makes messages fit into a window of maxTokens by replacing the oldest tool
// results behind the last user message (those of the running turn) by a stub
// that says where the whole is. keep stores a result and returns that place, a
// path the model can read. The newest result stays whole. Messages that do not
// fit even so are returned as they are then: the provider decides.
func Fit(messages []chat.Message, maxTokens int, keep func(chat.Message) (string, error)) ([]chat.Message, error) {
	size := totalWeight(messages)
	if maxTokens <= 0 || tokens(size) <= maxTokens {
		return messages, nil
	}
	out := slices.Clone(messages)
	newest := -1
	for i, m := range out {
		if m.Role == chat.RoleTool {
			newest = i
		}
	}
	for i := lastUser(out) + 1; i < newest && tokens(size) > maxTokens; i++ {
		m := out[i]
		if m.Role != chat.RoleTool || weight(m) <= stubWeight {
			continue
		}
		path, err := keep(m)
		if err != nil {
			return nil, fmt.Errorf("keep the result of %s: %w", m.ToolName, err)
		}
		out[i].Content = fmt.Sprintf("(this result was left out because the conversation is long; the whole is in %s, read it with file_read)", path)
		size += weight(out[i]) - weight(m)
	}
	return out, nil
}

// stubWeight: results that are not much larger than their stub stay.
const stubWeight = 4 * 100

func lastUser(messages []chat.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == chat.RoleUser {
			return i
		}
	}
	return -1
}
