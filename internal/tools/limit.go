package tools

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// presentable makes a result that every provider and database takes: never
// empty, valid UTF-8, without NUL.
func presentable(content string) string {
	content = strings.ToValidUTF8(content, "\uFFFD")
	content = strings.ReplaceAll(content, "\x00", "\uFFFD")
	if strings.TrimSpace(content) == "" {
		return "(no output)"
	}
	return content
}

// limit keeps the head and the tail of a result that is too long.
func (r *Registry) limit(call Call, name, content string) string {
	max := r.opts.MaxResultChars
	if len(content) <= max {
		return content
	}
	runes := utf8.RuneCountInString(content)
	if runes <= max {
		return content
	}
	where := ""
	if r.opts.Spill != nil {
		path, err := r.opts.Spill(call, name, content)
		if err != nil {
			r.opts.Logger.Warn("cannot keep a long tool result", "tool", name, "turn_id", call.TurnID, "error", err)
		} else {
			where = path
		}
	}
	// The marker's length depends on the number in it, which depends on the
	// marker's length: assume the longest number.
	room := max - utf8.RuneCountInString(leftOut(runes, "characters", where))
	if room < 2 {
		room = 2
	}
	return headRunes(content, room/2) + leftOut(runes-room, "characters", where) + tailRunes(content, room-room/2)
}

// leftOut is the marker between head and tail.
func leftOut(n int, unit, where string) string {
	if where != "" {
		where = "; the whole is in " + where
	}
	return fmt.Sprintf("\n[... %d %s left out%s ...]\n", n, unit, where)
}

func headRunes(s string, n int) string {
	i := 0
	for ; n > 0 && i < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return s[:i]
}

func tailRunes(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
}
