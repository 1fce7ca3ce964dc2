package skills

import (
	"fmt"
	"strings"
)

// lenientFields reads the wanted keys of front matter line by line, for what is not
// YAML: "description: Use when: always", tabs, quotes in quotes. A value goes on in
// the indented lines that follow.
func lenientFields(front string) (map[string]string, error) {
	f := map[string]string{}
	key := ""                    // of the value that may go on
	values := map[string]value{} // as they are written
	for line := range strings.SplitSeq(front, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if line[0] == ' ' || line[0] == '\t' {
			if key != "" {
				v := values[key]
				v.lines = append(v.lines, strings.TrimSpace(line))
				values[key] = v
			}
			continue
		}
		key = ""
		name, rest, ok := strings.Cut(line, ":")
		for _, w := range wanted {
			if ok && strings.EqualFold(strings.TrimSpace(name), w) {
				key = w
				values[w] = value{lines: []string{strings.TrimSpace(rest)}}
			}
		}
	}
	for key, v := range values {
		text, err := v.text()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		f[key] = text
	}
	return f, nil
}

type value struct{ lines []string }

// text is the value without what YAML puts around it.
func (v value) text() (string, error) {
	first := v.lines[0]
	if block := strings.TrimRight(first, "+-0123456789 "); block == "|" || block == ">" {
		return strings.Join(v.lines[1:], " "), nil
	}
	text := strings.TrimSpace(strings.Join(v.lines, " "))
	if text == "" {
		return "", nil
	}
	switch open := text[0]; open {
	case '"', '\'':
		if len(text) < 2 || text[len(text)-1] != open {
			return "", fmt.Errorf("the quote %c is not closed", open)
		}
		return text[1 : len(text)-1], nil
	case '[', '{':
		if !strings.ContainsRune(text, map[byte]rune{'[': ']', '{': '}'}[open]) {
			return "", fmt.Errorf("the bracket %c is not closed", open)
		}
	}
	return text, nil
}
