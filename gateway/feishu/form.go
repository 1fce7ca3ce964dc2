package feishu

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"picobot/internal/brief"
)

// form is one way to show a text.
type form struct {
	kind    string // msg_type
	content func(text string) string
}

// forms are tried in this order: what one cannot show the next one can.
var forms = []form{
	{"interactive", card},
	{"post", richText},
	{"text", plainText},
}

type object = map[string]any

func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // it counts for the size
	if err := e.Encode(v); err != nil {
		panic(err) // maps of strings always encode
	}
	return strings.TrimSpace(b.String())
}

// card is a text as a card of JSON 2.0
// (https://open.feishu.cn/document/uAjLw4CM/ukzMukzMukzM/feishu-cards/card-json-v2-structure).
func card(text string) string {
	return cardOf(text, object{"tag": "markdown", "element_id": "md", "content": safe(text)})
}

// plainCard shows a text without reading it: what it can do no content can undo.
func plainCard(text string) string {
	return cardOf(text, object{"tag": "div", "element_id": "md", "text": object{"tag": "plain_text", "content": text}})
}

func cardOf(text string, element object) string {
	return encode(object{
		"schema": "2.0",
		"config": object{"update_multi": true, "width_mode": "fill", "summary": object{"content": preview(text)}},
		"body":   object{"elements": []any{element}},
	})
}

// preview is what the list of chats shows of a message.
func preview(text string) string {
	return brief.Cut(strings.Join(strings.Fields(text), " "), 80)
}

func richText(text string) string {
	return encode(object{"zh_cn": object{"title": "", "content": []any{[]any{object{"tag": "md", "text": safe(text)}}}}})
}

func plainText(text string) string {
	return encode(object{"text": markup.ReplaceAllString(text, "< $1")})
}

var (
	// markup names people, and addresses that are not shown: what a model writes must call nobody.
	markup  = regexp.MustCompile(`(?i)<(/?(?:at|person|link|a)\b)`)
	picture = regexp.MustCompile(`!\[([^\]]*)\]\(([^)\s]*)[^)]*\)`)
)

// safe makes Markdown that Feishu takes: pictures, which it takes only when they were
// uploaded, become links, and nobody is called. Code stays as it is.
func safe(text string) string {
	lines := strings.Split(text, "\n")
	fence := ""
	for i, line := range lines {
		switch {
		case fence == "" && opensFence(line) != "":
			fence = opensFence(line)
		case fence != "":
			if closesFence(line, fence) {
				fence = ""
			}
		default:
			parts := strings.Split(line, "`")
			for j := range parts {
				if j%2 == 0 || len(parts)%2 == 0 { // not between two ticks
					parts[j] = markup.ReplaceAllString(pictures(parts[j]), "&lt;$1")
				}
			}
			lines[i] = strings.Join(parts, "`")
		}
	}
	return strings.Join(lines, "\n")
}

func pictures(s string) string {
	return picture.ReplaceAllStringFunc(s, func(m string) string {
		p := picture.FindStringSubmatch(m)
		if p[1] == "" {
			p[1] = p[2]
		}
		if !strings.HasPrefix(p[2], "http://") && !strings.HasPrefix(p[2], "https://") {
			return p[1]
		}
		return "[" + p[1] + "](" + p[2] + ")"
	})
}

// uuid is by what Feishu knows a message again: the same for all its forms and
// however often it is sent (at most 50 characters).
func uuid(app, origin string, part, piece, generation int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d\n%d\n%d", app, origin, part, piece, generation))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])[:40])
}
