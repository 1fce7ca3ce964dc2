package text

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Locales that have a catalogue, as the configuration names them.
const (
	English = "en"
	Chinese = "zh-CN"
)

// Locales returns all of them.
func Locales() []string { return []string{English, Chinese} }

// Message is a text with its arguments: any struct of this package that embeds msg.
type Message interface{ isMessage() }

// msg makes the struct that embeds it a Message.
type msg struct{}

func (msg) isMessage() {}

// entries maps the zero value of each message type to its text in one language.
type entries map[Message]string

// Catalogue says texts in one language. It is safe for concurrent use.
type Catalogue struct {
	locale string
	texts  entries
}

// For returns the catalogue of a locale. Spellings that clients send ("zh",
// "zh_CN.UTF-8", "zh-Hans") are understood; what is not known is answered in English.
func For(locale string) *Catalogue {
	language := strings.ToLower(locale)
	if i := strings.IndexAny(language, "-_."); i >= 0 {
		language = language[:i]
	}
	if language == "zh" {
		return &Catalogue{locale: Chinese, texts: chinese}
	}
	return &Catalogue{locale: English, texts: english}
}

// Locale returns the locale of the catalogue: English or Chinese.
func (c *Catalogue) Locale() string { return c.locale }

// Say returns the text of m with its arguments filled in. Arguments are put in as they
// are: braces inside them mean nothing.
func (c *Catalogue) Say(m Message) string {
	value := reflect.ValueOf(m)
	key, _ := reflect.Zero(value.Type()).Interface().(Message)
	var out strings.Builder
	for _, p := range parse(c.texts[key]) {
		if p.field == "" {
			out.WriteString(p.literal)
			continue
		}
		out.WriteString(p.show(value.FieldByName(p.field)))
	}
	return out.String()
}

// piece is a part of a text: literal words, or the place of an argument.
type piece struct {
	literal   string
	field     string
	one, many string // nouns after a number, "" when there is none
}

// parse splits a text at its placeholders.
func parse(text string) []piece {
	var pieces []piece
	for {
		literal, rest, found := strings.Cut(text, "{")
		if literal != "" {
			pieces = append(pieces, piece{literal: literal})
		}
		if !found {
			return pieces
		}
		place, after, _ := strings.Cut(rest, "}")
		field, nouns, _ := strings.Cut(place, "|")
		one, many, _ := strings.Cut(nouns, "|")
		pieces = append(pieces, piece{field: field, one: one, many: many})
		text = after
	}
}

// show writes an argument, with the noun that fits when it is a number.
func (p piece) show(v reflect.Value) string {
	if v.Kind() != reflect.Int {
		return fmt.Sprint(v)
	}
	n := strconv.FormatInt(v.Int(), 10)
	switch {
	case p.many == "":
		return n
	case v.Int() == 1:
		return n + " " + p.one
	default:
		return n + " " + p.many
	}
}

// Untitled reports whether a title is none: it is empty, or what a new dialog is called
// in any language.
func Untitled(title string) bool {
	return title == "" || title == english[DefaultTitle{}] || title == chinese[DefaultTitle{}]
}
