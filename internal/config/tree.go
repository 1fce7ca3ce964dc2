package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// Bounds of a configuration file.
const (
	maxFileBytes = 1 << 20
	maxDepth     = 64 // the parser is recursive; without a bound a file of brackets would overflow its stack
	maxItems     = 10_000
	maxEntries   = 1000 // of providers, models, agents and the like
)

// node is one value of a parsed file.
type node struct {
	kind    hujson.Kind // 'n', 't', 'f', '0', '"', '{' or '['
	text    string      // a string's value, or a number as written
	keys    []string    // of an object, in the order of the file, each once
	members map[string]*node
	items   []*node
}

// treeParser turns the text of a file into nodes, environment variables filled in.
type treeParser struct {
	env      func(string) (string, bool)
	problems *problems
}

// parse returns nil after adding a problem when the text is no JSON object.
func (p treeParser) parse(text []byte) *node {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	switch {
	case len(text) > maxFileBytes:
		p.problems.add("", "the file is larger than %d bytes; a configuration must be smaller", maxFileBytes)
		return nil
	case !utf8.Valid(text):
		p.problems.add("", "the file is not UTF-8 text; save it as UTF-8")
		return nil
	case depth(text) > maxDepth:
		p.problems.add("", "values are nested more than %d deep; flatten them", maxDepth)
		return nil
	}
	// The parser wants a newline after a comment on the last line.
	value, err := hujson.Parse(append(bytes.Clone(text), '\n'))
	if err != nil {
		p.problems.add("", "%s", syntaxMessage(err))
		return nil
	}
	root := p.node(value, "")
	if root.kind != '{' {
		p.problems.add("", "the file must hold one JSON object, not %s", kindName(root.kind))
		return nil
	}
	return root
}

// syntaxMessage says where the text is no JSON. The parser repeats what it could
// not read, which may be a key that somebody forgot to quote, so that is cut off.
func syntaxMessage(err error) string {
	msg := strings.TrimPrefix(err.Error(), "hujson: ")
	if where, _, found := strings.Cut(msg, ": invalid literal"); found {
		msg = where + ": not a JSON value (is a quote missing, or a \\ not doubled?)"
	}
	return "not valid JSON: " + msg
}

func (p treeParser) node(v hujson.Value, path string) *node {
	n := &node{kind: v.Value.Kind()}
	switch v := v.Value.(type) {
	case hujson.Literal:
		n.text = v.String()
		if n.kind == '"' {
			n.text = p.expand(n.text, path)
		}
	case *hujson.Array:
		for i, e := range v.Elements {
			n.items = append(n.items, p.node(e, fmt.Sprintf("%s[%d]", path, i)))
		}
	case *hujson.Object:
		n.members = make(map[string]*node, len(v.Members))
		for _, m := range v.Members {
			key := m.Name.Value.(hujson.Literal).String()
			at := join(path, key)
			child := p.node(m.Value, at)
			if _, twice := n.members[key]; twice {
				p.problems.add(at, "this key stands here twice; keep one")
				continue
			}
			n.keys = append(n.keys, key)
			n.members[key] = child
		}
	}
	return n
}

// depth returns how deep brackets are nested, outside strings and comments.
func depth(text []byte) int {
	deepest, now := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			now++
			deepest = max(deepest, now)
		case '}', ']':
			now--
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '/':
			i += comment(text[i:])
		}
	}
	return deepest
}

// comment returns how many bytes to skip so that the next one is the first after
// the comment that text starts with, 0 when it starts with none.
func comment(text []byte) int {
	var end string
	switch {
	case bytes.HasPrefix(text, []byte("//")):
		end = "\n"
	case bytes.HasPrefix(text, []byte("/*")):
		end = "*/"
	default:
		return 0
	}
	at := bytes.Index(text[2:], []byte(end))
	if at < 0 {
		return len(text)
	}
	return 2 + at + len(end) - 1
}

// raw writes the node as compact JSON, keys in the order of the file.
func (n *node) raw() json.RawMessage { return n.append(nil) }

func (n *node) append(out []byte) []byte {
	switch n.kind {
	case '"':
		return appendString(out, n.text)
	case '[':
		out = append(out, '[')
		for i, item := range n.items {
			if i > 0 {
				out = append(out, ',')
			}
			out = item.append(out)
		}
		return append(out, ']')
	case '{':
		out = append(out, '{')
		for i, key := range n.keys {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendString(out, key), ':')
			out = n.members[key].append(out)
		}
		return append(out, '}')
	default: // null, true, false and numbers stand for themselves
		return append(out, n.text...)
	}
}

func appendString(out []byte, s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// A string cannot fail to encode.
	_ = enc.Encode(s)
	return append(out, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

func kindName(k hujson.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '0':
		return "a number"
	case '"':
		return "a string"
	case '[':
		return "a list"
	default:
		return "an object"
	}
}
