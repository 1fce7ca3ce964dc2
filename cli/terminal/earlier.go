package terminal

import (
	"slices"
	"strings"

	"picobot/internal/chat"
	"picobot/internal/protocol"
)

const (
	// earlierTexts is how many messages and answers from before are shown at most.
	earlierTexts = 6
	// besides is how many lines of a screen are left to the greeting and the prompt.
	besides = 5
)

// Earlier shows the end of what was said before this conversation, oldest first and
// no more than a screen of it.
func (s *Screen) Earlier(rows []protocol.Message, width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	texts, left := 0, max(height-besides, 1)
rows:
	for _, m := range slices.Backward(rows) {
		shown, isText := earlierLines(m)
		if isText {
			if texts++; texts > earlierTexts {
				break
			}
		}
		for _, l := range slices.Backward(shown) {
			if left -= screenLines(l, width); left < 0 {
				break rows
			}
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return
	}
	slices.Reverse(lines)
	// Dimmed, where the terminal can; the heading says it where it cannot.
	s.put("\x1b[2m— earlier —\x1b[0m\n")
	for _, l := range lines {
		s.put("\x1b[2m" + l + "\x1b[0m\n")
	}
}

func earlierLines(m protocol.Message) (lines []string, isText bool) {
	text := strings.TrimRight(Clean(m.Content), "\n")
	switch {
	case m.Role == chat.RoleTool:
		return []string{oneLine("· " + m.ToolName + ": " + text)}, false
	case text == "":
		return nil, false
	case m.Role == chat.RoleUser:
		text = "> " + text
	}
	return strings.Split(text, "\n"), true
}

// screenLines is how many lines of the screen a line takes, at most: a character may
// be two columns wide.
func screenLines(l string, width int) int {
	columns := 0
	for _, r := range l {
		switch {
		case r == '\t':
			columns += 8
		case r < 0x1100:
			columns++
		default:
			columns += 2
		}
	}
	if width <= 0 {
		return 1
	}
	return 1 + max(columns-1, 0)/width
}
