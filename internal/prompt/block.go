package prompt

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The lines of AGENT.md between which maintenance writes what is known of people, and
// the line that heads the part of one.
const (
	blockBegin  = "<!-- picobot:memory:begin -->"
	blockEnd    = "<!-- picobot:memory:end -->"
	scopePrefix = "<!-- scope: "
	scopeSuffix = " -->"
)

// Part is what AGENT.md says of one person.
type Part struct {
	Scope    string // channel:sender_id
	Markdown string
}

// Personal returns the text of AGENT.md as the chat of these people is given it: of
// the memory blocks only the parts of these scopes, and no block where that leaves
// nothing. A block that is not ended (somebody has deleted its last line) is taken to
// reach to the end from its first part on: rather too little than somebody else's.
func Personal(text string, scopes []string) string {
	if !strings.Contains(text, scopePrefix) && !strings.Contains(text, blockBegin) {
		return text
	}
	allowed := map[string]bool{}
	for _, s := range scopes {
		allowed[heading(s)] = true
	}
	var out []string
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); {
		stop, next, ok := blockAt(lines, i)
		if !ok {
			out = append(out, lines[i])
			i++
			continue
		}
		if mine := partsOf(lines[i+1:stop], allowed); len(mine) > 0 {
			out = append(append(append(out, blockBegin), mine...), blockEnd)
		} else if len(out) > 0 && bare(out[len(out)-1]) == "" && next < len(lines) && bare(lines[next]) == "" {
			next++ // the blank lines before and after it become one
		}
		i = next
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

// blockAt says whether a block begins at a line, where its parts stop, and which line
// is the first behind it. One that has no end but parts stops at the next block, or at
// the end of the text.
func blockAt(lines []string, begin int) (stop, next int, ok bool) {
	if bare(lines[begin]) != blockBegin {
		return 0, 0, false
	}
	part := false
	for i := begin + 1; i < len(lines); i++ {
		switch line := bare(lines[i]); {
		case line == blockEnd:
			return i, i + 1, true
		case line == blockBegin:
			return i, i, part
		case isHeading(line):
			part = true
		}
	}
	return len(lines), len(lines), part
}

// partsOf returns the lines of the allowed parts.
func partsOf(lines []string, allowed map[string]bool) []string {
	var out []string
	take := false
	for _, l := range lines {
		if line := bare(l); isHeading(line) {
			take = allowed[line]
		}
		if take {
			out = append(out, l)
		}
	}
	return out
}

func bare(line string) string { return strings.TrimSpace(line) }

func isHeading(line string) bool {
	return strings.HasPrefix(line, scopePrefix) && strings.HasSuffix(line, scopeSuffix)
}

// heading is the line that heads a person's part. An id may be made of anything: what
// would end the comment or the line is written as %XX.
func heading(scope string) string {
	var b strings.Builder
	for i, r := range scope {
		_, size := utf8.DecodeRuneInString(scope[i:])
		if r == '<' || r == '>' || r == '%' || r == utf8.RuneError || !unicode.IsPrint(r) {
			for _, c := range []byte(scope[i : i+size]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
			continue
		}
		b.WriteRune(r)
	}
	return scopePrefix + b.String() + scopeSuffix
}

// block writes the parts, in the order of their scopes.
func block(parts []Part) string {
	sorted := slices.Clone(parts)
	slices.SortFunc(sorted, func(a, b Part) int { return strings.Compare(a.Scope, b.Scope) })
	var b strings.Builder
	b.WriteString(blockBegin + "\n")
	for _, p := range sorted {
		b.WriteString(heading(p.Scope) + "\n" + harmless(p.Markdown) + "\n")
	}
	b.WriteString(blockEnd)
	return b.String()
}

// harmless makes a model's text one that stays in its part: comments, which is what
// the lines that tell parts apart are, are only text in it.
func harmless(markdown string) string {
	text := strings.NewReplacer("<!--", "&lt;!--", "-->", "--&gt;", "\r\n", "\n", "\r", "\n").Replace(markdown)
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp)) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}

// withBlock returns text with the parts in place of those in its first whole block, or
// in a block at its end. Everything else stays as it is, byte for byte.
func withBlock(text string, parts []Part) string {
	newline := "\n"
	if strings.Contains(text, "\r\n") {
		newline = "\r\n"
	}
	fresh := strings.ReplaceAll(block(parts), "\n", newline)
	from, to, ok := wholeBlock(text)
	switch {
	case ok && len(parts) == 0:
		// The lines stay: they say where people have wanted the block to be.
		return text[:from] + blockBegin + newline + blockEnd + text[to:]
	case ok:
		return text[:from] + fresh + text[to:]
	case len(parts) == 0:
		return text
	case text == "":
		return fresh + newline
	case strings.HasSuffix(text, "\n"):
		return text + newline + fresh + newline
	}
	return text + newline + newline + fresh + newline
}

// wholeBlock finds the first line that begins a block and is followed by one that ends
// it before another begins, and returns the bytes between the two, both included.
func wholeBlock(text string) (from, to int, ok bool) {
	begin, at := -1, 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		switch bare(line) {
		case blockBegin:
			begin = at + strings.Index(line, blockBegin)
		case blockEnd:
			if begin >= 0 {
				return begin, at + strings.Index(line, blockEnd) + len(blockEnd), true
			}
		}
		at += len(line)
	}
	return 0, 0, false
}

// outside returns the text without its blocks: what people have written.
func outside(text string) string { return Personal(text, nil) }
