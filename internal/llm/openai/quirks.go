package openai

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"picobot/internal/llm"
)

// reasoningModel matches OpenAI's reasoning models, with or without the vendor
// prefix of a router: they take max_completion_tokens only, and no temperature.
var reasoningModel = regexp.MustCompile(`^(?:openai/)?(?:o[134](?:$|-)|gpt-[5-9])`)

// thinkers are models that refuse a tool turn whose reasoning does not come back:
// DeepSeek (https://api-docs.deepseek.com/guides/thinking_mode) and Kimi
// (https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model). Most others
// ignore it, and some refuse it.
var thinkers = []string{"deepseek", "kimi"}

// echoesReasoning says whether earlier reasoning goes back to the model.
func echoesReasoning(m llm.Model) bool {
	if !automatic(m) {
		return m.Reasoning == "echo"
	}
	id := strings.ToLower(m.ID)
	return slices.ContainsFunc(thinkers, func(name string) bool { return strings.Contains(id, name) })
}

// automatic reports that the config leaves it to us.
func automatic(m llm.Model) bool { return m.Reasoning == "" || m.Reasoning == "auto" }

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
