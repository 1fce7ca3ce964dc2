package memory

import (
	"slices"

	"picobot/internal/nearest"
)

// leastAlike is how much a name must have in common with what was asked for.
const leastAlike = 0.3

// maxNearest is how many names are suggested.
const maxNearest = 5

// Nearest returns those of names that are most like wanted, the best first: none that
// has nothing in common with it.
func Nearest(wanted Name, names []Name) []Name {
	type candidate struct {
		name Name
		like float64
	}
	var found []candidate
	key, namespace := characters(wanted.Key), characters(wanted.Namespace)
	for _, n := range names {
		like := nearest.Similarity(key, characters(n.Key))
		if like < leastAlike {
			continue
		}
		found = append(found, candidate{n, like + nearest.Similarity(namespace, characters(n.Namespace))/4})
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		switch {
		case a.like > b.like:
			return -1
		case a.like < b.like:
			return 1
		}
		return 0
	})
	var out []Name
	for _, c := range found[:min(len(found), maxNearest)] {
		out = append(out, c.name)
	}
	return out
}

// characters counts the pairs of neighbouring characters, and the characters.
func characters(s string) map[string]int {
	out := map[string]int{}
	folded := fold(s)
	for _, p := range pairs(folded) {
		out[p]++
	}
	for _, r := range folded {
		if kindOf(r) != separator {
			out[string(r)]++
		}
	}
	return out
}
