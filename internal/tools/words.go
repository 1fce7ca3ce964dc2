package tools

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"picobot/internal/brief"
	"picobot/internal/nearest"
)

// How much of what the model made up is repeated to it: of a name, and of a reason
// why an argument will not do.
const (
	maxQuoted = 64
	maxReason = 300
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// quote repeats a name from outside, short and on one line.
func quote(name string) string { return strconv.Quote(brief.Cut(brief.OneLine(name), maxQuoted)) }

// cutMiddle shortens text to about max runes by leaving out its middle.
func cutMiddle(text string, max int) string {
	runes := []rune(text)
	if len(runes) <= max {
		return text
	}
	return string(runes[:max/2]) + " … " + string(runes[len(runes)-max/2:])
}

// byLikeness orders names by how close they are to word.
func byLikeness(word string, names []string) []string {
	word = brief.Cut(strings.ToLower(word), maxQuoted)
	sorted := slices.Clone(names)
	slices.SortStableFunc(sorted, func(a, b string) int { return nearest.Distance(word, a) - nearest.Distance(word, b) })
	return sorted
}

func didYouMean(word string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	best := byLikeness(word, names)[0]
	// Further than half of it is no typing mistake.
	if nearest.Distance(strings.ToLower(brief.Cut(word, maxQuoted)), best) > (len(best)+1)/2 && !strings.Contains(best, strings.ToLower(word)) {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}
