package compact

import (
	_ "embed"
	"strings"

	"picobot/internal/chat"
)

//go:embed summarise.md
var instructions string

// Heading is how the row with a summary begins.
const Heading = "[Compressed History]"

// MaxSummary is how many tokens a summary may have in a window of so many: it is part
// of every request from then on.
func MaxSummary(window int) int { return max(200, window/8) }

// MaxTranscript is how many tokens a transcript that stands for itself may have: as a
// summary, and so few that putting it in the place of the older rows is worth it where
// that can be. Sizes are weights, as Worth takes them.
func MaxTranscript(window, all, older int) int {
	return max(100, min(MaxSummary(window), (older-all/4)/quarters))
}

// Request is what a model is asked for a summary of a transcript.
func Request(transcript string) []chat.Message {
	return []chat.Message{
		{Role: chat.RoleSystem, Content: strings.TrimSpace(instructions)},
		{Role: chat.RoleUser, Content: "The transcript to summarise follows between the lines <transcript> and </transcript>.\n<transcript>\n" + transcript + "\n</transcript>\nWrite the summary now."},
	}
}

// Row is the content of the row that holds a summary, cut to maxTokens.
func Row(summary string, maxTokens int) string {
	summary = strings.TrimSpace(strings.ToValidUTF8(summary, "\uFFFD"))
	summary = strings.TrimSpace(strings.TrimPrefix(summary, Heading)) // models repeat what they have seen
	return Heading + "\n" + cut(summary, maxTokens*quarters)
}
