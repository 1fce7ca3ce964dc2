package memory

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// maxWord bounds a word, in characters: what is longer is compared up to there.
const maxWord = 64

// dense are scripts in whose text words are not told apart by spaces, or (Korean) are
// written in one with what belongs to them: there every pair of neighbouring
// characters is a term, and every character.
var dense = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Yi,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

func isDense(r rune) bool {
	return r >= 0x0e00 && (unicode.In(r, dense...) || r == 'ー')
}

// run is a stretch of text that is a word, or of a dense script.
type run struct {
	text  string
	dense bool
}

// fold makes what people take for the same the same: case, width, ligatures.
func fold(s string) string { return cases.Fold().String(norm.NFKC.String(s)) }

// runs cuts folded text.
func runs(folded string) []run {
	var out []run
	start, kind := 0, separator
	flush := func(end int) {
		if kind == ideographs || kind == word {
			out = append(out, run{text: folded[start:end], dense: kind == ideographs})
		}
	}
	for i, r := range folded {
		k := kindOf(r)
		if k == symbol { // one term each
			flush(i)
			out = append(out, run{text: string(r)})
			start, kind = i, symbol
			continue
		}
		if k != kind {
			flush(i)
			start, kind = i, k
		}
	}
	flush(len(folded))
	return out
}

type kind int

const (
	separator kind = iota
	word
	ideographs
	symbol
)

func kindOf(r rune) kind {
	switch {
	case r < 0x80:
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return word
		}
		return separator
	case unicode.Is(unicode.Variation_Selector, r):
		return separator
	case isDense(r):
		return ideographs
	case unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.Co):
		return word
	case unicode.Is(unicode.So, r):
		return symbol
	}
	return separator
}

// pairs returns the overlapping pairs of neighbouring characters.
func pairs(text string) []string {
	r := []rune(text)
	if len(r) < 2 {
		return nil
	}
	out := make([]string, len(r)-1)
	for i := range out {
		out[i] = string(r[i : i+2])
	}
	return out
}

// Segment returns a text as the terms that it is found by, separated by spaces.
func Segment(text string) string {
	var b strings.Builder
	add := func(term string) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(term)
	}
	for _, r := range runs(fold(text)) {
		if !r.dense {
			add(head(r.text, maxWord))
			continue
		}
		for _, p := range pairs(r.text) {
			add(p)
		}
		for _, c := range r.text {
			add(string(c))
		}
	}
	return b.String()
}

func head(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Query is what a search looks for.
type Query struct {
	// Whole are phrases of an FTS5 query, one for each word, or run of a dense script, as
	// it stands there. A memory that has them all is a better answer than one that does not.
	Whole []string
	// Parts are the same in the smallest pieces: any of them makes a memory an answer.
	Parts []string
	// words are what is looked for in a content to show where it was found.
	words []string
}

// maxTerms bounds a query: what comes later in a long text tells little.
const maxTerms = 32

// ParseQuery reads what somebody searches for. It may be of any language, a few words
// or a question; a query without any word has no Whole.
func ParseQuery(text string) Query {
	var q Query
	var common []string // parts that are stop words
	seen := map[string]bool{}
	part := func(term string) {
		switch {
		case len(q.Parts)+len(common) == maxTerms || seen[term]:
		case stopWords[term]:
			common = append(common, quoted(term))
		default:
			q.Parts = append(q.Parts, quoted(term))
		}
		seen[term] = true
	}
	for _, r := range runs(fold(head(text, MaxQuery))) {
		if len(q.Whole) == maxTerms {
			break
		}
		q.words = append(q.words, r.text)
		p := pairs(r.text)
		if !r.dense || len(p) == 0 {
			term := head(r.text, maxWord)
			q.Whole = append(q.Whole, quoted(term))
			part(term)
			continue
		}
		q.Whole = append(q.Whole, quoted(strings.Join(p[:min(len(p), maxTerms)], " ")))
		for _, pair := range p {
			part(pair)
		}
	}
	if len(q.Parts) == 0 {
		q.Parts = common
	}
	return q
}

// quoted makes a phrase of FTS5's language. Terms hold no quotes.
func quoted(s string) string { return `"` + s + `"` }
