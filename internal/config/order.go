package config

import (
	"iter"
	"maps"
	"reflect"
	"slices"
	"unicode"
)

// sortedKeys makes everything that walks a map do so in one order: messages and
// secrets come out the same way every time.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// sorted yields the entries of a map by name.
func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, k := range sortedKeys(m) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

func sortedFields(t reflect.Type) iter.Seq2[string, int] { return sorted(fieldsOf(t)) }

func unprintable(r rune) bool { return !unicode.IsPrint(r) }
