package config

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"picobot/internal/nearest"
)

// decoder lays a parsed file over the defaults. It knows the keys from the json tags
// of Config and nothing else, so a new key needs no code here.
type decoder struct {
	problems *problems
	named    map[string]bool
}

var rawType = reflect.TypeFor[json.RawMessage]()

// value lays n over what dst holds. Where n does not fit, dst keeps its default.
func (d decoder) value(n *node, dst reflect.Value, path string) {
	if d.problems.isSpoiled(path) {
		return
	}
	switch {
	case dst.Type() == rawType:
		dst.Set(reflect.ValueOf(n.raw()))
		return
	case dst.Kind() == reflect.Pointer && n.kind == 'n':
		dst.SetZero()
		return
	case dst.Kind() == reflect.Pointer:
		target := reflect.New(dst.Type().Elem())
		d.value(n, target.Elem(), path)
		if !d.problems.isSpoiled(path) {
			dst.Set(target)
		}
		return
	}
	switch dst.Kind() {
	case reflect.String:
		if d.want(n, path, "a string", '"') {
			dst.SetString(n.text)
		}
	case reflect.Bool:
		if d.want(n, path, "true or false", 't', 'f') {
			dst.SetBool(n.kind == 't')
		}
	case reflect.Int:
		d.integer(n, dst, path)
	case reflect.Float64:
		d.float(n, dst, path)
	case reflect.Slice:
		d.list(n, dst, path)
	case reflect.Map:
		d.mapping(n, dst, path)
	case reflect.Struct:
		d.object(n, dst, path)
	default:
		panic("config: no way to read a " + dst.Type().String()) // a field of a type that no test has met
	}
}

func (d decoder) want(n *node, path, what string, kinds ...hujson.Kind) bool {
	if slices.Contains(kinds, n.kind) {
		return true
	}
	d.problems.spoil(path, "must be %s, not %s", what, kindName(n.kind))
	return false
}

func (d decoder) integer(n *node, dst reflect.Value, path string) {
	if !d.want(n, path, "a whole number", '0') {
		return
	}
	if i, err := strconv.ParseInt(n.text, 10, 64); err == nil {
		dst.SetInt(i)
		return
	}
	// 1e3 and 5.0 are whole numbers too.
	const exact = 1 << 53
	f, err := strconv.ParseFloat(n.text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > exact {
		d.problems.spoil(path, "must be a whole number, not %s", clip(n.text))
		return
	}
	dst.SetInt(int64(f))
}

func (d decoder) float(n *node, dst reflect.Value, path string) {
	if !d.want(n, path, "a number", '0') {
		return
	}
	f, err := strconv.ParseFloat(n.text, 64)
	if err != nil {
		d.problems.spoil(path, "must be a number that fits, not %s", clip(n.text))
		return
	}
	dst.SetFloat(f)
}

// list replaces the default list: lists do not merge.
func (d decoder) list(n *node, dst reflect.Value, path string) {
	if !d.want(n, path, "a list", '[') {
		return
	}
	if len(n.items) > maxItems {
		d.problems.spoil(path, "must list at most %d, not %d", maxItems, len(n.items))
		return
	}
	list := reflect.MakeSlice(dst.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		at := fmt.Sprintf("%s[%d]", path, i)
		if dst.Type().Elem() == rawType && !d.want(item, at, "an object", '{') {
			continue
		}
		d.value(item, list.Index(i), at)
	}
	dst.Set(list)
}

// mapping adds the entries of an object with free names, each laid over the entry
// that is there already or over the defaults of such entries.
func (d decoder) mapping(n *node, dst reflect.Value, path string) {
	if !d.want(n, path, "an object", '{') {
		return
	}
	if len(n.keys) > maxEntries {
		d.problems.spoil(path, "must hold at most %d entries, not %d", maxEntries, len(n.keys))
		return
	}
	for _, name := range n.keys {
		at := join(path, name)
		d.named[at] = true
		if strings.TrimSpace(name) == "" || strings.ContainsFunc(name, unprintable) {
			d.problems.add(at, "a name here must be visible text without control characters")
		}
		entry := reflect.New(dst.Type().Elem()).Elem()
		if old := dst.MapIndex(reflect.ValueOf(name)); old.IsValid() {
			entry.Set(old)
		} else {
			entryDefault(entry)
		}
		d.value(n.members[name], entry, at)
		dst.SetMapIndex(reflect.ValueOf(name), entry)
	}
}

func entryDefault(entry reflect.Value) {
	switch e := entry.Addr().Interface().(type) {
	case *Provider:
		*e = defaultProvider()
	case *Model:
		*e = defaultModel()
	case *Agent:
		*e = defaultAgent()
	}
}

// object lays the keys of n over the fields of a struct.
func (d decoder) object(n *node, dst reflect.Value, path string) {
	if !d.want(n, path, "an object", '{') {
		return
	}
	fields := fieldsOf(dst.Type())
	for _, key := range n.keys {
		at := join(path, key)
		field, known := fields[key]
		if !known {
			d.problems.add(at, "unknown key; %s", d.suggestKey(key, fields))
			continue
		}
		d.named[at] = true
		d.value(n.members[key], dst.Field(field), at)
	}
}

// suggestKey names the nearest key of this object or, when none is near, where in
// the file a key of just this name belongs.
func (d decoder) suggestKey(key string, fields map[string]int) string {
	if d.problems.full() {
		return "" // only counted, and a file can hold a hundred thousand
	}
	known := sortedKeys(fields)
	if nearest.Of(key, known) == "" {
		if places := placesOf(key, reflect.TypeFor[Config](), ""); len(places) > 0 {
			return "it belongs at " + strings.Join(places, " or ")
		}
	}
	return suggest(key, known)
}

// placesOf lists the paths below t at which key is known.
func placesOf(key string, t reflect.Type, path string) []string {
	var places []string
	for name, i := range sortedFields(t) {
		at := join(path, name)
		if name == key {
			places = append(places, at)
		}
		switch ft := t.Field(i).Type; ft.Kind() {
		case reflect.Struct:
			places = append(places, placesOf(key, ft, at)...)
		case reflect.Map:
			if ft.Elem().Kind() == reflect.Struct {
				places = append(places, placesOf(key, ft.Elem(), at+".NAME")...)
			}
		}
	}
	return places
}

// fieldsOf maps the keys of a struct to its fields.
func fieldsOf(t reflect.Type) map[string]int {
	fields := map[string]int{}
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("json"); key != "" {
			fields[key] = i
		}
	}
	return fields
}

func clip(s string) string {
	if len(s) > maxQuoted {
		return s[:maxQuoted] + "…"
	}
	return s
}
