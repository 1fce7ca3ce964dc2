package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// completion is what could be meant by what is typed.
type completion struct {
	items []candidate
	at    int
	moved bool   // the person has chosen one of them
	not   string // the text for which nothing is to be offered
}

// candidate is a text that could stand instead of what is typed.
type candidate struct {
	text  string // the whole input
	label string
	help  string
	whole bool // nothing has to follow
}

// completing takes a key that is for the list of candidates, while there is one.
func (m *Model) completing(k tea.KeyPressMsg) (todo []effect, done bool) {
	c := &m.complete
	if len(c.items) == 0 {
		return nil, k.String() == "tab" // which would be a tab in the text
	}
	switch k.String() {
	case "up", "ctrl+p":
		c.at, c.moved = (c.at+len(c.items)-1)%len(c.items), true
	case "down", "ctrl+n":
		if c.moved {
			c.at = (c.at + 1) % len(c.items)
		}
		c.moved = true
	case "esc":
		m.completeNot()
	case "tab":
		return m.accept(c.items[c.at]), true
	case "enter":
		if !c.moved {
			return nil, false
		}
		chosen := c.items[c.at]
		todo = m.accept(chosen)
		if chosen.whole {
			todo = append(todo, m.enter()...)
		}
	default:
		return nil, false
	}
	return todo, true
}

func (m *Model) accept(c candidate) []effect {
	m.input.set(c.text)
	if c.whole {
		m.completeNot()
		return nil
	}
	return m.completeAgain()
}

// completeNot offers nothing until the text changes.
func (m *Model) completeNot() { m.complete = completion{not: m.input.area.Value()} }

// completeAgain finds what could be meant now.
func (m *Model) completeAgain() []effect {
	switch rest, wanted := m.offer(); {
	case !wanted:
		return nil
	case rest == "" || m.sessions == nil: // others may have come meanwhile, from elsewhere
		return m.load()
	default:
		return nil
	}
}

// offer is completeAgain with the dialogs that are here. wanted tells that one of them,
// which is like rest, is to be completed.
func (m *Model) offer() (rest string, wanted bool) {
	typed := m.input.area.Value()
	if typed == m.complete.not && typed != "" {
		return "", false
	}
	m.complete = completion{}
	word, rest, hasArgs := strings.Cut(typed, " ")
	switch {
	case !strings.HasPrefix(typed, "/") || strings.Contains(typed, "\n"):
	case !hasArgs:
		m.complete.items = m.commandsLike(word)
	case word == "/use" || word == "/switch":
		m.complete.items = m.sessionsLike(word, rest)
		return rest, true
	}
	return "", false
}

func (m *Model) commandsLike(word string) []candidate {
	var out []candidate
	for _, c := range m.commands {
		name := "/" + c.Name
		if !strings.HasPrefix(name, strings.ToLower(word)) {
			continue
		}
		text, whole := name, c.Usage == "" || strings.HasPrefix(c.Usage, "[")
		if c.Usage != "" {
			text += " "
		}
		out = append(out, candidate{text: text, label: strings.TrimSpace(name + " " + c.Usage), help: c.Help, whole: whole})
	}
	if len(out) == 1 && strings.TrimSpace(out[0].text) == word {
		return nil // it is typed already
	}
	return out
}

func (m *Model) sessionsLike(word, typed string) []candidate {
	var out []candidate
	for _, s := range m.sessions {
		id := s.dialog()
		if id != typed && fits(s.Title+" "+id, typed) {
			out = append(out, candidate{text: word + " " + id, label: m.called(s), help: id, whole: true})
		}
	}
	return out
}

// load asks for the dialogs unless they are on their way. Those that are here are shown
// until then.
func (m *Model) load() []effect {
	if m.loading {
		return nil
	}
	m.loading = true
	return []effect{loadSessions{}}
}

// fits reports whether all words of a filter are in a text.
func fits(s, filter string) bool {
	s = strings.ToLower(s)
	for _, w := range strings.Fields(strings.ToLower(filter)) {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}
