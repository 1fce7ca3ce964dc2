package memory

import (
	"slices"
	"strings"
	"unicode"
)

// snippetRunes is how long a snippet is, in characters.
const snippetRunes = 200

// Snippet returns the part of a content that a query was found in, on one line.
func (q Query) Snippet(content string) string {
	text := []rune(strings.Join(strings.Fields(content), " "))
	if len(text) <= snippetRunes {
		return string(text)
	}
	at := q.place(text)
	start := max(0, min(at-snippetRunes/4, len(text)-snippetRunes))
	for start > 0 && start < at && !unicode.IsSpace(text[start-1]) && !isDense(text[start]) {
		start++ // not in the middle of a word
	}
	end := min(len(text), start+snippetRunes)
	out := strings.TrimSpace(string(text[start:end]))
	if start > 0 {
		out = "… " + out
	}
	if end < len(text) {
		out += " …"
	}
	return out
}

// place is where in the text the query's longest word is first, else any part of one.
func (q Query) place(text []rune) int {
	var folded strings.Builder
	at := []int{} // of each byte of folded, the index in text
	for i, r := range text {
		f := fold(string(r))
		folded.WriteString(f)
		for range len(f) {
			at = append(at, i)
		}
	}
	words := slices.Clone(q.words)
	slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
	for _, w := range words {
		if i := strings.Index(folded.String(), w); i >= 0 {
			return at[i]
		}
	}
	for _, w := range words {
		for _, p := range pairs(w) {
			if i := strings.Index(folded.String(), p); i >= 0 && isDense([]rune(p)[0]) {
				return at[i]
			}
		}
	}
	return 0
}
