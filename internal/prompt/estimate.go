package prompt

import (
	"picobot/internal/chat"
)

// Estimate returns about how many tokens the messages are: four ASCII characters
// a token, every other rune one token, times 1.2. It errs on the high side.
func Estimate(messages []chat.Message) int { return Tokens(totalWeight(messages)) }

func totalWeight(messages []chat.Message) int {
	n := 0
	for _, m := range messages {
		n += Weight(m)
	}
	return n
}

// Tokens returns about how many tokens a weight is, with the margin, as Estimate does.
func Tokens(weight int) int { return weight * 12 / 40 }

const perMessage = 16 // quarter tokens of a message's own frame

// Weight is a message's size, in quarters of a token; the weights of several add up.
func Weight(m chat.Message) int {
	n := perMessage + TextWeight(m.Content) + TextWeight(chat.ReasoningText(m.ReasoningContent))
	for _, c := range m.ToolCalls {
		n += perMessage + TextWeight(c.Function.Name) + TextWeight(c.Function.Arguments)
	}
	return n
}

// TextWeight is the weight of a text that is no message, such as a tool's description.
func TextWeight(s string) int {
	n := 0
	for _, r := range s {
		if r < 0x80 {
			n++
		} else {
			n += 4
		}
	}
	return n
}
