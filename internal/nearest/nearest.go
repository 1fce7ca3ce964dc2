// Package nearest finds what somebody meant who misspelt something. It must not know
// what it is.
package nearest

import "strings"

const (
	maxLength = 64  // bytes of a name that is compared
	maxKnown  = 100 // a file can name thousands, and misspell as many
)

// Of returns the known name that takes the fewest edits to reach, or "" when even
// that one differs in more than a third of its letters (and in more than two).
func Of(name string, known []string) string {
	if len(name) > maxLength || len(known) > maxKnown {
		return ""
	}
	best, bestDistance := "", len(name)+1
	for _, k := range known {
		if len(k) > maxLength {
			continue
		}
		d := Distance(strings.ToLower(name), strings.ToLower(k))
		if d < bestDistance && d <= max(2, len(k)/3) && d < max(len(k), len(name)) {
			best, bestDistance = k, d
		}
	}
	return best
}

// Distance counts insertions, deletions, replacements and swaps of neighbours. Its
// time is the product of both lengths: bound them.
func Distance(x, y string) int {
	a, b := []rune(x), []rune(y)
	before, above := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}

// Similarity of two texts by how often each of their parts (such as pairs of
// neighbouring characters) occurs: Dice's coefficient, 1 for the same, 0 for nothing
// in common.
func Similarity[P comparable](a, b map[P]int) float64 {
	common, total := 0, 0
	for part, n := range a {
		common += min(n, b[part])
		total += n
	}
	for _, n := range b {
		total += n
	}
	if total == 0 {
		return 0
	}
	return 2 * float64(common) / float64(total)
}
