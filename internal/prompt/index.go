package prompt

import (
	"slices"

	"picobot/internal/chat"
)

// WithIndex adds a list of what the model may look up, which is no row: right behind
// the agent's prompt (in the same message, because some models take one system message
// only), else before everything. There it changes nothing of what providers have cached
// as long as it stays the same.
func WithIndex(messages []chat.Message, index string) []chat.Message {
	if index == "" {
		return messages
	}
	if len(messages) > 0 && messages[0].Marker == chat.MarkerAgentPrompt {
		out := slices.Clone(messages)
		out[0].Content += "\n\n" + index
		return out
	}
	return append([]chat.Message{{Role: chat.RoleSystem, Content: index}}, messages...)
}
