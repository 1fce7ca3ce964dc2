package tools

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How much of what the model made up is repeated to it: of a name, and of a reason
// why an argument will not do.
const (
	maxQuoted = 64
	maxReason = 300
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// quote repeats a name from outside, short and on one line.
func quote(name string) string { return strconv.Quote(cut(oneLine(name), maxQuoted)) }

// oneLine removes control and format characters (among them those that reorder
// text on a screen) and turns every run of white space into one space.
func oneLine(text string) string {
	var b strings.Builder
	space := false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			space = b.Len() > 0
		case unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co):
		default:
			if space {
				b.WriteByte(' ')
				space = false
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// cut shortens text to max runes, the last of which then is an ellipsis.
func cut(text string, max int) string {
	if utf8.RuneCountInString(text) <= max {
		return text
	}
	if max < 1 {
		return ""
	}
	return string([]rune(text)[:max-1]) + "…"
}

// cutMiddle shortens text to about max runes by leaving out its middle.
func cutMiddle(text string, max int) string {
	runes := []rune(text)
	if len(runes) <= max {
		return text
	}
	return string(runes[:max/2]) + " … " + string(runes[len(runes)-max/2:])
}

// nearest orders names by how close they are to word.
func nearest(word string, names []string) []string {
	word = cut(strings.ToLower(word), maxQuoted)
	sorted := slices.Clone(names)
	slices.SortStableFunc(sorted, func(a, b string) int { return distance(word, a) - distance(word, b) })
	return sorted
}

func didYouMean(word string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	best := nearest(word, names)[0]
	// Further than half of it is no typing mistake.
	if distance(strings.ToLower(cut(word, maxQuoted)), best) > (len(best)+1)/2 && !strings.Contains(best, strings.ToLower(word)) {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// distance is Levenshtein's.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j, s := range y {
			cost := diagonal
			if r != s {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}
