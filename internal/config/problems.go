package config

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxProblems bounds how many problems are listed; what comes after is only counted.
const maxProblems = 100

// Problem is one thing that is wrong, or worth a warning.
type Problem struct {
	Path    string // "models.gpt.provider", "scheduler.jobs[0].id"; "" = the file as a whole
	Message string // lower-case sentence that says what to do; never holds a secret
}

func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// Error lists everything that is wrong with a configuration.
type Error struct {
	File     string    // "" = no file: built-in defaults and the environment
	Problems []Problem // at least one, at most maxProblems
	More     int       // how many more there are
}

func (e *Error) Error() string {
	name := "the configuration"
	if e.File != "" {
		name = "config " + e.File
	}
	if len(e.Problems) == 1 && e.More == 0 {
		return name + ": " + e.Problems[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s has %d problems:", name, len(e.Problems)+e.More)
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "\n  and %d more", e.More)
	}
	return b.String()
}

// problems collects what is wrong. A path whose value could not be read at all is
// spoiled: what it holds is only a default, so later checks do not speak of it.
type problems struct {
	list    []Problem
	more    int
	spoiled map[string]bool

	dispensable func(path string) bool // which values may be missing; nil = none
	absent      *problems              // those that are
}

func newProblems() *problems {
	return &problems{spoiled: map[string]bool{}, absent: &problems{}}
}

func (p *problems) add(path, format string, args ...any) {
	if p.full() {
		p.more++
		return
	}
	p.list = append(p.list, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// full reports whether further problems are only counted.
func (p *problems) full() bool { return len(p.list) == maxProblems }

// spoil adds a problem and keeps later checks of path, and below it, quiet.
func (p *problems) spoil(path, format string, args ...any) {
	p.add(path, format, args...)
	p.spoiled[path] = true
}

// missing is spoil for a value that its reader may be able to do without.
func (p *problems) missing(path, format string, args ...any) {
	if p.dispensable == nil || !p.dispensable(path) {
		p.spoil(path, format, args...)
		return
	}
	p.absent.add(path, format, args...)
	p.spoiled[path] = true
}

// check adds a problem unless path, or what holds it, is spoiled.
func (p *problems) check(path, format string, args ...any) {
	if !p.isSpoiled(path) {
		p.add(path, format, args...)
	}
}

func (p *problems) isSpoiled(path string) bool {
	for path != "" {
		if p.spoiled[path] {
			return true
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return false
}

// err returns nil when nothing is wrong.
func (p *problems) err(file string) error {
	if len(p.list) == 0 {
		return nil
	}
	return &Error{File: file, Problems: p.list, More: p.more}
}

// join returns the path of a key inside the object at path. Names that are no plain
// words are quoted, so that a dot in a model's name cannot be mistaken for a level.
func join(path, key string) string {
	if !plain(key) {
		return path + "[" + quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func plain(key string) bool {
	for _, r := range key {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
		default:
			return false
		}
	}
	return key != "" && len(key) <= maxQuoted
}

// maxQuoted bounds how much of somebody's text is repeated in a message, in bytes.
const maxQuoted = 64

func quote(s string) string {
	if len(s) <= maxQuoted {
		return fmt.Sprintf("%q", s)
	}
	s = s[:maxQuoted]
	for !utf8.ValidString(s) && len(s) > maxQuoted-utf8.UTFMax {
		s = s[:len(s)-1]
	}
	return fmt.Sprintf("%q", s+"…")
}

func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	return strings.Join(quoted, ", ")
}
