package offline

import (
	"unicode/utf8"

	"picobot/internal/chat"
	"picobot/internal/llm"
)

// answer adds the usage that a response to this request has.
func answer(req llm.Request, resp llm.Response) llm.Response {
	prompt := 0
	for _, m := range req.Messages {
		prompt += tokens(m.Content) + callTokens(m.ToolCalls)
	}
	resp.Usage = chat.Usage{
		PromptTokens:     int64(max(1, prompt)),
		CompletionTokens: int64(max(1, tokens(resp.Content)+callTokens(resp.ToolCalls))),
	}
	return resp
}

// tokens estimates: four ASCII characters a token, every other rune one.
func tokens(s string) int {
	runes := utf8.RuneCountInString(s)
	wide := 0
	for _, r := range s {
		if r >= utf8.RuneSelf {
			wide++
		}
	}
	return wide + (runes-wide+3)/4
}

func callTokens(calls []chat.ToolCall) int {
	n := 0
	for _, c := range calls {
		n += tokens(c.Function.Name) + tokens(c.Function.Arguments)
	}
	return n
}
