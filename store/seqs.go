package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Seqs are numbers of rows, ascending and each once. Their text is ranges: "1-3,7".
type Seqs []int64

// NewSeqs returns the numbers sorted, each once.
func NewSeqs(numbers []int64) Seqs {
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

func (s Seqs) String() string {
	var b strings.Builder
	for i := 0; i < len(s); {
		j := i
		for j+1 < len(s) && s[j+1] == s[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(s[i], 10))
		if j > i {
			b.WriteString("-" + strconv.FormatInt(s[j], 10))
		}
		i = j + 1
	}
	return b.String()
}

// Has reports whether n is among them.
func (s Seqs) Has(n int64) bool {
	_, ok := slices.BinarySearch(s, n)
	return ok
}

// maxSeqs bounds what ParseSeqs returns: more rows than any request holds.
const maxSeqs = 10_000_000

// ParseSeqs reads what String wrote.
func ParseSeqs(text string) (Seqs, error) {
	var out Seqs
	if text == "" {
		return out, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read row numbers %q: %w", part, err)
		}
		to, err := strconv.ParseInt(last, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read row numbers %q: %w", part, err)
		}
		if from > to || to-from >= maxSeqs-int64(len(out)) || len(out) > 0 && from <= out[len(out)-1] {
			return nil, fmt.Errorf("read row numbers: %q is no range behind the one before it", part)
		}
		for n := from; n <= to; n++ {
			out = append(out, n)
		}
	}
	return out, nil
}
