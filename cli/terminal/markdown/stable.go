package markdown

import (
	"regexp"
	"strings"
)

var (
	fence    = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})")
	listItem = regexp.MustCompile(`^ {0,3}([-*+]|\d{1,9}[.)])(\s|$)`)
)

// Stable returns how many bytes of a text will look the same whatever is written
// after it: its blocks up to the last blank line that ends one.
func Stable(text string) int {
	stable, pos := 0, 0
	open := ""      // the fence that is open
	blank := false  // the line before was empty
	inList := false // the last block is a list, which a blank line does not end
	for pos < len(text) {
		end := strings.IndexByte(text[pos:], '\n')
		if end < 0 {
			end = len(text) - pos // a line that is still being written
		}
		l, here := text[pos:pos+end], pos
		pos += end + 1
		mark := fence.FindStringSubmatch(l)
		switch {
		case open != "":
			if mark != nil && strings.HasPrefix(mark[1], open) && strings.TrimSpace(strings.TrimLeft(l, " "+mark[1][:1])) == "" {
				open = ""
			}
			continue
		case strings.TrimSpace(l) == "":
			blank = true
			continue
		}
		item, indented := listItem.MatchString(l), strings.HasPrefix(l, " ") || strings.HasPrefix(l, "\t")
		undecided := pos > len(text) && len(l) < 12 // "12" may become "12. twelfth"
		if blank && !indented && (!inList || !item && !undecided) {
			stable, inList = here, false
		}
		inList = inList || item && (blank || here == 0 || here == stable || !indented)
		blank = false
		if mark != nil {
			open = mark[1]
		}
	}
	return stable
}
