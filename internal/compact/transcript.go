package compact

import (
	"fmt"
	"slices"
	"strings"

	"picobot/internal/chat"
)

// quarters is how many units of weight a token is: an ASCII character is one, every
// other rune four (a token), as prompt.Estimate has it.
const quarters = 4

// Bounds of one entry, in tokens: what a person or a model said is worth more than
// what a tool gave, of which beginning and end say most.
const (
	maxSaid   = 2000
	maxResult = 500
	maxCall   = 300
)

// Transcript is the older part of a conversation, for a model to summarise or to stand
// for itself. Messages are added newest first; those that do not fit are counted only.
type Transcript struct {
	max     int // units
	used    int
	entries []string // newest first
	missing int
	earlier string // the summary of what came before, which is always kept
}

// NewTranscript returns an empty transcript that keeps about maxTokens.
func NewTranscript(maxTokens int) *Transcript { return &Transcript{max: maxTokens * quarters} }

// Add puts a message before those that are there.
func (t *Transcript) Add(m chat.Message) {
	if m.Marker == chat.MarkerHistoryCompaction {
		t.earlier = cut(m.Content, t.max/2)
		return
	}
	entry := render(m)
	if entry == "" {
		return
	}
	size := units(entry)
	if t.missing > 0 || t.used+size > t.max {
		t.missing++ // nothing older either: a transcript has one gap
		return
	}
	t.used += size
	t.entries = append(t.entries, entry)
}

// Text is the transcript in order: the newest entries up to about maxTokens, none of
// which takes more than a quarter of it.
func (t *Transcript) Text(maxTokens int) string {
	left := maxTokens * quarters
	earlier := cut(t.earlier, left/2)
	left -= units(earlier)
	most := max(left/4, minEntry)
	kept := 0
	var out []string
	for _, e := range t.entries {
		e = cut(e, most)
		if left -= units(e) + len(between); left < 0 {
			break
		}
		out = append(out, e)
		kept++
	}
	slices.Reverse(out)
	if missing := t.missing + len(t.entries) - kept; missing > 0 {
		out = slices.Insert(out, 0, fmt.Sprintf("(%d older entries are left out here)", missing))
	}
	if earlier != "" {
		out = slices.Insert(out, 0, earlier)
	}
	return strings.Join(out, between)
}

const (
	between  = "\n\n"
	minEntry = 200 // units: less of an entry says nothing
)

// render writes a message as it stands in a transcript, "" = it says nothing.
func render(m chat.Message) string {
	var out []string
	content := strings.TrimSpace(m.Content)
	switch m.Role {
	case chat.RoleTool:
		return fmt.Sprintf("[result of %s] %s", m.ToolName, cut(content, maxResult*quarters))
	case chat.RoleUser:
		content = strings.TrimSpace(content + strings.Repeat(" (an image)", len(m.Media)))
	}
	if content != "" {
		out = append(out, who(m)+" "+cut(content, maxSaid*quarters))
	}
	for _, c := range m.ToolCalls {
		out = append(out, fmt.Sprintf("[call of %s] %s", c.Function.Name, cut(chat.RawArguments(c.Function.Arguments), maxCall*quarters)))
	}
	return strings.Join(out, "\n")
}

func who(m chat.Message) string {
	switch {
	case m.Marker == chat.MarkerError:
		return "[this failed]"
	case m.Marker == chat.MarkerOutbound:
		return "[sent to the person by the system]"
	case m.Role == chat.RoleUser:
		return "[person]"
	case m.Role == chat.RoleAssistant:
		return "[assistant]"
	}
	return "[" + string(m.Role) + "]"
}

const gap = " […] "

// cut bounds a text to max units: two thirds of its beginning and a third of its end.
func cut(s string, max int) string {
	if max <= 0 {
		return ""
	}
	if units(s) <= max {
		return s
	}
	max -= units(gap)
	if max <= 0 {
		return ""
	}
	head := prefix(s, max*2/3)
	rest := s[len(head):]
	return head + gap + suffix(rest, max-units(head))
}

func prefix(s string, max int) string {
	for i, r := range s {
		if max -= unit(r); max < 0 {
			return s[:i]
		}
	}
	return s
}

func suffix(s string, max int) string {
	runes := []rune(s)
	i := len(runes)
	for i > 0 && max >= unit(runes[i-1]) {
		i--
		max -= unit(runes[i])
	}
	return string(runes[i:])
}

func units(s string) (n int) {
	for _, r := range s {
		n += unit(r)
	}
	return n
}

func unit(r rune) int {
	if r < 0x80 {
		return 1
	}
	return quarters
}
