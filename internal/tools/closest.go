package tools

import (
	"fmt"
	"strings"

	"picobot/internal/nearest"

	"picobot/internal/brief"
)

const (
	maxComparedLines = 20000
	maxComparedRunes = 200
	leastSimilarity  = 0.5
)

// closest names the line of text that is most like the first line of old that
// is not blank, for a model whose edit found nothing. It is "" when none is.
func closest(text, old string) string {
	var wanted string
	for line := range strings.SplitSeq(old, "\n") {
		if wanted = strings.TrimSpace(line); wanted != "" {
			break
		}
	}
	if wanted == "" {
		return ""
	}
	pairs := bigrams(wanted)
	best, bestLine, bestNumber, number := leastSimilarity, "", 0, 0
	for line := range strings.SplitSeq(text, "\n") {
		if number++; number > maxComparedLines {
			break
		}
		if s := nearest.Similarity(pairs, bigrams(strings.TrimSpace(line))); s > best {
			best, bestLine, bestNumber = s, line, number
		}
	}
	if bestNumber == 0 {
		return ""
	}
	return fmt.Sprintf(" (closest is line %d: %s)", bestNumber, quoteLine(bestLine))
}

// quoteLine shows white space at the beginning, which is what edits mostly miss.
func quoteLine(line string) string {
	return fmt.Sprintf("%q", brief.Cut(strings.TrimRight(line, "\r"), maxComparedRunes))
}

// bigrams counts the pairs of neighbouring characters.
func bigrams(s string) map[[2]rune]int {
	runes := []rune(headRunes(s, maxComparedRunes))
	pairs := make(map[[2]rune]int, len(runes))
	for i := 1; i < len(runes); i++ {
		pairs[[2]rune{runes[i-1], runes[i]}]++
	}
	if len(runes) == 1 {
		pairs[[2]rune{runes[0]}]++
	}
	return pairs
}
