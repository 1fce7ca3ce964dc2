package brief

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine turns every run of white space and control characters into one space, and
// leaves out what is not seen or reorders what is (format and private characters, and
// bytes that are no text).
func OneLine(text string) string {
	var b strings.Builder
	space := false
	for i, r := range text {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			space = b.Len() > 0
		case unicode.In(r, unicode.Cf, unicode.Co), r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
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

// Cut shortens text to max characters, the last of which then is an ellipsis.
func Cut(text string, max int) string {
	if utf8.RuneCountInString(text) <= max {
		return text
	}
	if max < 1 {
		return ""
	}
	return string([]rune(text)[:max-1]) + "…"
}
