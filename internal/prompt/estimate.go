package prompt

import (
	"picobot/internal/chat"
)

// Estimate returns about how many tokens the messages are: four ASCII characters
// a token, every other rune one token, times 1.2. It errs on the high side.
func Estimate(messages []chat.Message) int { return tokens(totalWeight(messages)) }

// Weight is a message's size; the weights of several add up. Tokens turns it into tokens.
func Weight(m chat.Message) int { return weight(m) }

// Tokens returns about how many tokens a weight is, as Estimate does.
func Tokens(weight int) int { return tokens(weight) }

// TextWeight is the weight of a text that is no message, such as a tool's description.
func TextWeight(s string) int { return quarters(s) }

func totalWeight(messages []chat.Message) int {
	n := 0
	for _, m := range messages {
		n += weight(m)
	}
	return n
}

// tokens turns a weight into tokens, with the margin.
func tokens(weight int) int { return weight * 12 / 40 }

const perMessage = 16 // quarter tokens of a message's own frame

// weight is a message's size in quarters of a token.
func weight(m chat.Message) int {
	n := perMessage + quarters(m.Content) + quarters(chat.ReasoningText(m.ReasoningContent))
	for _, c := range m.ToolCalls {
		n += perMessage + quarters(c.Function.Name) + quarters(c.Function.Arguments)
	}
	return n
}

func quarters(s string) int {
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
