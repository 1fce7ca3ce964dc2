package tui

import (
	"slices"

	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/internal/text"
)

const (
	// earlierTexts is how many messages and answers from before are shown at most.
	earlierTexts = 6
	// besides is how many lines of a screen are left to the greeting and the prompt.
	besides = 8
)

// earlier shows the end of what was said before this conversation, oldest first and
// no more than a screen of it.
func (m *Model) earlier(rows []protocol.Message) {
	var blocks []block
	texts, left := 0, max(m.height-besides, 2)
	for _, row := range slices.Backward(rows) {
		b, isText := m.earlierBlock(row)
		if b.head == "" && b.text == "" {
			continue
		}
		if isText {
			if texts++; texts > earlierTexts {
				break
			}
		}
		n := len(b.lines(m.page())) + 1 // and an empty one
		if n > left {
			if left > 2 && b.kind == kindAnswer {
				b.last = left - 2
				blocks = append(blocks, b)
			}
			break
		}
		left -= n
		blocks = append(blocks, b)
	}
	if len(blocks) == 0 {
		return
	}
	m.note(m.words.Say(text.TerminalEarlier{}))
	for _, b := range slices.Backward(blocks) {
		m.add(b)
	}
}

func (m *Model) earlierBlock(row protocol.Message) (b block, isText bool) {
	switch {
	case isResult(row):
		c := call{name: row.ToolName, state: outcomeOf(row.Content), summary: oneLine(row.ToolName + ": " + row.Content)}
		return block{kind: kindTool, head: m.callLine(c, m.page()), text: row.Content}, false
	case row.Content == "":
		return block{}, false
	case row.Role == chat.RoleUser:
		return block{kind: kindSaid, text: row.Content}, true
	case row.Marker == chat.MarkerError:
		return block{kind: kindAlert, text: row.Content}, true
	default:
		return block{kind: kindAnswer, text: row.Content}, true
	}
}
