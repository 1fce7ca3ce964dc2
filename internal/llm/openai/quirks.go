package openai

import (
	"net/url"
	"regexp"
	"strings"

	"picobot/internal/llm"
)

// reasoningModel matches OpenAI's reasoning models, with or without the vendor
// prefix of a router: they take max_completion_tokens only, and no temperature.
var reasoningModel = regexp.MustCompile(`^(?:openai/)?(?:o[134](?:$|-)|gpt-[5-9])`)

// echoesReasoning says whether earlier reasoning goes back to the model. Thinking
// models of DeepSeek and Kimi refuse a tool turn without it; others ignore it or
// refuse it.
func echoesReasoning(m llm.Model) bool {
	switch m.Reasoning {
	case "echo":
		return true
	case "drop":
		return false
	}
	id := strings.ToLower(m.ID)
	return strings.Contains(id, "deepseek") || strings.Contains(id, "kimi")
}

// maxTokensField names the field that limits the answer: OpenAI's own endpoint
// wants the new one, most others know only the old one.
func maxTokensField(baseURL, modelID string) string {
	if reasoningModel.MatchString(modelID) || isOpenAI(baseURL) {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

func takesTemperature(modelID string) bool { return !reasoningModel.MatchString(modelID) }

func isOpenAI(baseURL string) bool {
	u, err := url.Parse(baseURL)
	return err == nil && u.Hostname() == "api.openai.com"
}
