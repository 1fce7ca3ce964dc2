package feishu

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"path/filepath"
	"strings"
	"unicode"

	"picobot/internal/brief"
)

// attachment is a file that a message points at.
type attachment struct {
	Kind string `json:"kind"` // image, file, audio or video
	Key  string `json:"key"`
	Name string `json:"name,omitempty"`
}

// said is the content of a message as text, with what it points at.
type said struct {
	text        string
	attachments []attachment
	merged      bool // its text is in the messages that it is made of
}

const (
	maxText        = 200 << 10 // bytes of one message's text
	maxAttachments = 20
)

// readContent reads a content of Feishu's. Kinds that hold nothing to read become a
// line that names them: nothing a person sends may vanish without a word.
func readContent(kind, content string) said {
	var s said
	switch kind {
	case "text":
		var c struct {
			Text string `json:"text"`
		}
		if decode([]byte(content), &c) {
			s.text = c.Text
		}
	case "post":
		s = readPost(content)
	case "image", "file", "audio", "media":
		s = readFile(kind, content)
	case "merge_forward":
		s.merged, s.text = true, "[forwarded messages]"
	default:
		s.text = readOther(kind, content)
	}
	if len(s.text) > maxText {
		s.text = strings.ToValidUTF8(s.text[:maxText], "") + "\n[the rest of the message is left out]"
	}
	s.attachments = s.attachments[:min(len(s.attachments), maxAttachments)]
	return s
}

// decode reads JSON as far as it is what is expected: one part of another kind must
// not cost what a person wrote around it.
func decode(b []byte, v any) bool {
	err := json.Unmarshal(b, v)
	_, other := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || other
}

func readFile(kind, content string) said {
	var c struct {
		ImageKey string `json:"image_key"`
		FileKey  string `json:"file_key"`
		FileName string `json:"file_name"`
		Duration int64  `json:"duration"` // ms
	}
	if !decode([]byte(content), &c) {
		return said{text: "[" + kind + "]"}
	}
	name := cleanName(c.FileName)
	a := attachment{Kind: kind, Key: c.FileKey, Name: name}
	text := "[" + kind + "]"
	switch kind {
	case "image":
		a.Key, a.Name = c.ImageKey, ""
	case "file":
		text = "[file " + name + "]"
	case "audio":
		text = fmt.Sprintf("[voice message, %d s]", (c.Duration+500)/1000)
		a.Name = "voice.opus"
	case "media":
		a.Kind, text = "video", "[video "+name+"]"
	}
	if a.Key == "" {
		return said{text: text}
	}
	return said{text: text, attachments: []attachment{a}}
}

// readOther names what cannot be read, with what can be read of it.
func readOther(kind, content string) string {
	var c struct {
		Title    string `json:"title"`
		Name     string `json:"name"`
		Summary  string `json:"summary"`
		Topic    string `json:"topic"`
		ChatID   string `json:"chat_id"`
		UserID   string `json:"user_id"`
		ChatName string `json:"chat_name"`
		UserName string `json:"user_name"`
	}
	_ = json.Unmarshal([]byte(content), &c) // what is not there stays empty
	label := map[string]string{"share_chat": "shared chat", "share_user": "shared contact", "interactive": "card", "sticker": "sticker", "location": "location"}[kind]
	if label == "" {
		label = strings.ReplaceAll(kind, "_", " ")
	}
	for _, v := range []string{c.Title, c.Name, c.Summary, c.Topic, c.ChatName, c.UserName, c.ChatID, c.UserID} {
		if v != "" {
			label += ": " + brief.Cut(v, 500)
			break
		}
	}
	if text := cardText(kind, content); text != "" {
		return "[" + label + "]\n" + text
	}
	return "[" + label + "]"
}

// cardText is the text of a card as it comes back from Feishu: lines of elements.
func cardText(kind, content string) string {
	if kind != "interactive" {
		return ""
	}
	var c struct {
		Elements json.RawMessage `json:"elements"`
		Body     struct {
			Elements json.RawMessage `json:"elements"`
		} `json:"body"`
	}
	if json.Unmarshal([]byte(content), &c) != nil {
		return ""
	}
	var lines []string
	for _, raw := range []json.RawMessage{c.Elements, c.Body.Elements} {
		var v any
		if json.Unmarshal(raw, &v) == nil {
			lines = collectText(v, lines)
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// collectText gathers what is under "text" and "content" of a card's elements.
func collectText(v any, lines []string) []string {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			lines = collectText(e, lines)
		}
	case map[string]any:
		for _, key := range []string{"content", "text"} {
			if s, ok := v[key].(string); ok && strings.TrimSpace(s) != "" {
				lines = append(lines, s)
			}
		}
		for _, key := range []string{"text", "elements", "columns", "fields"} {
			switch v[key].(type) {
			case []any, map[string]any:
				lines = collectText(v[key], lines)
			}
		}
	}
	return lines
}

// element is one part of a line of a post.
type element struct {
	Tag      string `json:"tag"`
	Text     string `json:"text"`
	Href     string `json:"href"`
	UserID   string `json:"user_id"`
	UserName string `json:"user_name"`
	ImageKey string `json:"image_key"`
	FileKey  string `json:"file_key"`
	Emoji    string `json:"emoji_type"`
	Language string `json:"language"`
}

type postBody struct {
	Title   string      `json:"title"`
	Content [][]element `json:"content"`
}

// readPost reads a post: flat, by language, or wrapped in "post".
func readPost(content string) said {
	post, ok := findPost([]byte(content), 0)
	if !ok {
		return said{text: "[post]"}
	}
	var s said
	var lines []string
	if post.Title != "" {
		lines = append(lines, post.Title)
	}
	for _, line := range post.Content {
		var b strings.Builder
		for _, e := range line {
			text, a := e.read()
			b.WriteString(text)
			if a.Key != "" {
				s.attachments = append(s.attachments, a)
			}
		}
		lines = append(lines, b.String())
	}
	s.text = strings.TrimSpace(strings.Join(lines, "\n"))
	return s
}

func findPost(content []byte, depth int) (postBody, bool) {
	var flat postBody
	if decode(content, &flat) && flat.Content != nil {
		return flat, true
	}
	var wrapped map[string]json.RawMessage
	if depth > 1 || json.Unmarshal(content, &wrapped) != nil {
		return flat, false
	}
	for _, key := range []string{"post", "zh_cn", "en_us", "ja_jp"} {
		if inner, ok := wrapped[key]; ok {
			return findPost(inner, depth+1)
		}
	}
	return flat, false
}

func (e element) read() (string, attachment) {
	switch e.Tag {
	case "a":
		if e.Text == "" || e.Text == e.Href {
			return e.Href, attachment{}
		}
		return "[" + e.Text + "](" + e.Href + ")", attachment{}
	case "at":
		if strings.HasPrefix(e.UserID, "@") {
			return e.UserID, attachment{} // a key: names puts the name there
		}
		return "@" + e.UserName, attachment{}
	case "img":
		return "[image]", attachment{Kind: "image", Key: e.ImageKey}
	case "media":
		return "[video]", attachment{Kind: "video", Key: e.FileKey}
	case "emotion":
		return "[" + e.Emoji + "]", attachment{}
	case "code_block":
		return "```" + strings.ToLower(e.Language) + "\n" + strings.TrimSuffix(e.Text, "\n") + "\n```", attachment{}
	case "hr":
		return "---", attachment{}
	}
	return e.Text, attachment{}
}

// cleanName makes a name of a file that is one everywhere.
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	name = strings.Trim(name, " .")
	if r := []rune(name); len(r) > 100 {
		ext := []rune(filepath.Ext(name))
		if len(ext) > 20 {
			ext = nil
		}
		name = string(r[:100-len(ext)]) + string(ext)
	}
	if name == "" {
		return "unnamed"
	}
	return name
}

// fileName reads the name out of a Content-Disposition, "" when there is none.
func fileName(disposition string) string {
	_, params, err := mime.ParseMediaType(disposition)
	if err != nil || params["filename"] == "" {
		return ""
	}
	return cleanName(params["filename"])
}
