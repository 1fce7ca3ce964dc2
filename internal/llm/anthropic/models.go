package anthropic

import (
	"encoding/json"
	"regexp"
	"strings"

	"picobot/internal/llm"
)

// limits are the max_tokens that a request carries when the model's config sets
// none: the API demands a number. They are what each family takes at most
// (https://platform.claude.com/docs/en/about-claude/models/overview), and no more
// than 32000: what is reserved for an answer is missing for the conversation.
var limits = []struct {
	model     *regexp.Regexp
	maxTokens int
}{
	{regexp.MustCompile(`claude-3-(?:opus|sonnet|haiku)`), 4096},
	{regexp.MustCompile(`claude-3-5`), 8192},
	{regexp.MustCompile(`claude-`), 32_000},
}

// otherLimit is for models that are not Anthropic's: most compatible servers take it.
const otherLimit = 8192

// maxTokens returns the limit of a request. Thinking counts into it, so a budget
// for that comes on top.
func maxTokens(m llm.Model) int {
	if m.MaxOutputTokens > 0 {
		return m.MaxOutputTokens
	}
	limit := otherLimit
	for _, l := range limits {
		if l.model.MatchString(strings.ToLower(m.ID)) {
			limit = l.maxTokens
			break
		}
	}
	if t := thinkingOf(m); t.Type == "enabled" && t.Budget >= limit {
		limit += t.Budget
	}
	return limit
}

// sampling matches the Claude models that take a temperature. From Opus 4.7 on the
// API refuses one ("`temperature` is deprecated for this model").
var sampling = regexp.MustCompile(`claude-(?:[0-3]|instant|v[0-9]|(?:opus|sonnet|haiku)-4(?:-[0-6])?(?:$|[^0-9-]|-[0-9]{8}))`)

// temperature returns the temperature to send: not to who refuses one, and not
// beyond 1, where this API's range ends.
func temperature(m llm.Model) (float64, bool) {
	if m.Temperature == nil || thinkingOf(m).on() || (isClaude(m.ID) && !sampling.MatchString(strings.ToLower(m.ID))) {
		return 0, false
	}
	return min(*m.Temperature, 1), true
}

func isClaude(id string) bool { return strings.Contains(strings.ToLower(id), "claude") }

// thinking is what a model's extra fields say of it.
type thinking struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens"`
}

func thinkingOf(m llm.Model) thinking {
	var t thinking
	// What cannot be read is the endpoint's to refuse.
	_ = json.Unmarshal(m.Extra["thinking"], &t)
	return t
}

func (t thinking) on() bool { return t.Type == "enabled" || t.Type == "adaptive" }
