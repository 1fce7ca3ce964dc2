package skills

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"picobot/internal/brief"
)

// compose makes the text of a SKILL.md from what a model or a person gives: a whole
// file, or instructions with a description. before is what is there now; nil = nothing.
func compose(name, description, content string, before *document) (string, error) {
	if len(content) > maxFile {
		return "", fmt.Errorf("the content has %d bytes, at most %d are taken: put parts into files of their own", len(content), maxFile)
	}
	description = brief.OneLine(description)
	text := content
	whole := strings.HasPrefix(strings.TrimLeft(content, "\uFEFF \t\r\n"), "---")
	switch {
	case whole && description != "":
		d, err := pieces(content)
		if err != nil {
			return "", err
		}
		text = assemble(describe(d.front, description), d.body)
	case whole:
	case before == nil:
		if description == "" {
			return "", errors.New("a skill needs a description: one sentence that says what it does and when to use it")
		}
		if strings.TrimSpace(content) == "" {
			return "", errors.New("a skill needs content: the instructions, in Markdown")
		}
		text = assemble("name: "+name+"\n"+descriptionLine(description), content)
	default:
		front, body := before.front, before.body
		if description != "" {
			front = describe(front, description)
		}
		if strings.TrimSpace(content) != "" {
			body = content
		}
		text = assemble(front, body)
	}
	return text, verify(text, name, description)
}

func pieces(text string) (d document, err error) {
	d.front, d.body, err = split(strings.TrimPrefix(text, "\uFEFF"))
	return d, err
}

func assemble(front, body string) string {
	return "---\n" + strings.TrimRight(front, "\n") + "\n---\n\n" + strings.TrimSpace(body) + "\n"
}

// verify reads a text back: what is written must be the skill that was meant.
func verify(text, name, description string) error {
	if len(text) > maxFile {
		return fmt.Errorf("SKILL.md would have %d bytes, at most %d are taken: put parts into files of their own", len(text), maxFile)
	}
	d, err := parse([]byte(text))
	if err != nil {
		return err
	}
	if d.name != "" && d.name != name {
		return fmt.Errorf("the content's front matter names the skill %q, the call %q: use one name", brief.Cut(brief.OneLine(d.name), maxName), name)
	}
	if description != "" && d.description != brief.Cut(description, maxDescription) {
		return errors.New("the front matter is too unusual to be changed: give the whole SKILL.md as content, front matter included")
	}
	return nil
}

// describe replaces the description in front matter and leaves all else as it is.
func describe(front, description string) string {
	var out []string
	replaced, dropping := false, false
	for line := range strings.SplitSeq(strings.TrimRight(front, "\n"), "\n") {
		indented := strings.TrimSpace(line) == "" || line[0] == ' ' || line[0] == '\t'
		if dropping && indented {
			continue
		}
		key, _, ok := strings.Cut(line, ":")
		dropping = ok && !indented && strings.EqualFold(strings.TrimSpace(key), "description")
		if !dropping {
			out = append(out, line)
		} else if !replaced {
			out, replaced = append(out, descriptionLine(description)), true
		}
	}
	if !replaced {
		out = append(out, descriptionLine(description))
	}
	return strings.Join(out, "\n") + "\n"
}

func descriptionLine(description string) string {
	quoted, err := yaml.Marshal(description)
	if err != nil { // a string can always be written
		return "description: " + description
	}
	return "description: " + strings.TrimSpace(string(quoted))
}
