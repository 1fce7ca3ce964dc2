package protocol

import (
	"bytes"
	"encoding/json"
	"iter"
)

// What walks JSON here takes parts of the frame instead of copying them: a large frame
// may have a million keys, and each would cost many times its length as an entry of a
// map. All of it needs JSON that is known to be valid.

// members yields the keys of an object, as written, and their values.
func members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for rest := inside(object); len(rest) > 0; {
			key := rest[:length(rest)]
			rest = bytes.TrimLeft(rest[len(key):], space+":")
			value := rest[:length(rest)]
			if !yield(key, value) {
				return
			}
			rest = bytes.TrimLeft(rest[len(value):], space+",")
		}
	}
}

// elements yields the elements of a list.
func elements(list []byte) iter.Seq[[]byte] {
	return func(yield func(value []byte) bool) {
		for rest := inside(list); len(rest) > 0; {
			value := rest[:length(rest)]
			if !yield(value) {
				return
			}
			rest = bytes.TrimLeft(rest[len(value):], space+",")
		}
	}
}

const space = " \t\r\n"

// inside returns what is between the brackets of an object or a list.
func inside(b []byte) []byte {
	b = bytes.Trim(b, space)
	return bytes.Trim(b[1:len(b)-1], space)
}

// length returns how long the value is that b begins with.
func length(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i += closing(b[i:])
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i // a number or a word ends before it
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(b)
}

// closing returns where the string ends that b begins with.
func closing(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(b) - 1
}

// isObject reports whether valid JSON is an object.
func isObject(b []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(b, space), []byte("{")) }

// isList reports whether valid JSON is a list.
func isList(b []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(b, space), []byte("[")) }

// pick returns the values of the keys that are known, of a repeated one the last.
func pick(object []byte, known map[string]bool) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for key, value := range members(object) {
		if name := key[1 : len(key)-1]; known[string(name)] {
			out[string(name)] = value
		} else if bytes.IndexByte(name, '\\') >= 0 {
			var s string
			if json.Unmarshal(key, &s) == nil && known[s] {
				out[s] = value
			}
		}
	}
	return out
}
