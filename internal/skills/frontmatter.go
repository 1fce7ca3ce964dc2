package skills

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"picobot/internal/brief"
)

// document is a SKILL.md.
type document struct {
	name        string // as it is written; "" = none
	description string // one line
	manual      bool
	front       string // the text between the marks, lines end in "\n"
	body        string
	notes       []string
}

// parse reads a SKILL.md as people write it: with a byte order mark, any line ends,
// keys of other agents, and front matter that is not quite YAML (most often a colon
// in the description). Its error is a sentence for whoever wrote the file.
func parse(data []byte) (document, error) {
	if bytes.HasPrefix(data, []byte("\xFF\xFE")) || bytes.HasPrefix(data, []byte("\xFE\xFF")) {
		return document{}, errors.New("SKILL.md is UTF-16: save it as UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	if !utf8.Valid(data) {
		return document{}, errors.New("SKILL.md is not valid UTF-8: save it as UTF-8")
	}
	var d document
	var err error
	if d.front, d.body, err = split(string(data)); err != nil {
		return d, err
	}
	f, err := fields(d.front)
	if err != nil {
		var broken error
		if f, broken = lenientFields(d.front); broken != nil {
			return d, fmt.Errorf("the front matter of SKILL.md cannot be read (%w): put the description in quotes", broken)
		}
		d.notes = append(d.notes, "the front matter is not valid YAML ("+brief.OneLine(err.Error())+"); it was read line by line")
	}
	d.name = strings.TrimSpace(f["name"])
	d.description = brief.OneLine(f["description"])
	d.manual = strings.EqualFold(strings.TrimSpace(f["disable-model-invocation"]), "true")
	if d.description == "" {
		return d, errors.New("SKILL.md has no description: add a line such as `description: What it does and when to use it` to its front matter")
	}
	if n := utf8.RuneCountInString(d.description); n > maxDescription {
		d.notes = append(d.notes, fmt.Sprintf("the description has %d characters, of which %d are used", n, maxDescription))
		d.description = brief.Cut(d.description, maxDescription)
	}
	if strings.TrimSpace(d.body) == "" {
		d.notes = append(d.notes, "there are no instructions below the front matter")
	}
	return d, nil
}

// split takes front matter and body apart.
func split(text string) (front, body string, err error) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	text = strings.TrimLeft(text, " \t\n")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return "", "", errors.New("SKILL.md does not begin with front matter: its first line must be ---, followed by name and description")
	}
	for at := 0; at < len(rest) && at <= maxFrontMatter; {
		line, _, _ := strings.Cut(rest[at:], "\n")
		if mark := strings.TrimRight(line, " \t"); mark == "---" || mark == "..." {
			return rest[:at], strings.TrimLeft(rest[min(at+len(line)+1, len(rest)):], "\n"), nil
		}
		at += len(line) + 1
	}
	if len(rest) > maxFrontMatter {
		return "", "", fmt.Errorf("the front matter of SKILL.md does not end within %d bytes: close it with a line ---", maxFrontMatter)
	}
	return "", "", errors.New("the front matter of SKILL.md does not end: close it with a line ---")
}

// wanted are the keys that mean something here. All others are other agents'.
var wanted = []string{"name", "description", "disable-model-invocation"}

// fields reads front matter as YAML. Nothing but plain values of the wanted keys is
// looked at, so aliases never multiply.
func fields(front string) (f map[string]string, err error) {
	defer func() {
		if p := recover(); p != nil { // the file is from outside, and the parser large
			err = fmt.Errorf("the YAML parser gave up: %v", p)
		}
	}()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(front), &doc); err != nil {
		return nil, err
	}
	f = map[string]string{}
	if doc.Kind == 0 {
		return f, nil // nothing but comments
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it is no list of keys and values")
	}
	pairs := doc.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		for _, key := range wanted {
			if !strings.EqualFold(pairs[i].Value, key) {
				continue
			}
			value := pairs[i+1]
			if value.Kind == yaml.AliasNode {
				value = value.Alias
			}
			if value == nil || value.Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("%s is not a text", key)
			}
			if value.Tag != "!!null" {
				f[key] = value.Value
			}
		}
	}
	return f, nil
}
