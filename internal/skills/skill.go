package skills

import (
	"path/filepath"
	"slices"
)

// Scope says whose skills a source holds.
type Scope string

// The two scopes.
const (
	User    Scope = "user"    // of whoever runs PicoBot, wherever it runs
	Project Scope = "project" // of the directory that PicoBot runs in
)

// Source is a directory that holds skills.
type Source struct {
	Name  string // as the configuration calls it
	Scope Scope
	// Base is an absolute directory that is taken as it is, and Path the way from
	// there to the skills.
	Base, Path string
	// Confined: links on the way must not lead out of Base. For directories that
	// come with a project, which somebody else may have written.
	Confined bool
	// Managed: Library.Create and its like work here. One source of each scope is.
	Managed bool
}

func (s Source) dir() string { return filepath.Join(s.Base, s.Path) }

// StateFile is a JSON file that says which skills are switched off.
type StateFile struct {
	Scope      Scope
	Base, Path string // as in Source
}

func (f StateFile) file() string { return filepath.Join(f.Base, f.Path) }

// Skill is one skill that can be used.
type Skill struct {
	Name        string
	Description string // one line
	Source      string
	Scope       Scope
	Path        string // its folder: absolute, without links
	// Disabled: it is switched off in one of the state files.
	Disabled bool
	// Manual: it asks not to be offered. It is used when a person names it.
	Manual bool
	// Overrides are the sources whose skill of this name does not count.
	Overrides []string

	root string // the source's directory without links
	rel  string // the folder's way from there
	file string // SKILL.md, as it is spelled
}

// Problem is something that is wrong with a folder.
type Problem struct {
	Name    string // of the folder, or of the state file
	Source  string
	Scope   Scope
	Path    string // of the folder or file, absolute
	Message string // a sentence that says what to do
	// Note: the skill works all the same.
	Note bool
}

// Snapshot is what was on disk at one moment. It never changes.
type Snapshot struct {
	skills   []Skill // those that count, the highest precedence first, then by name
	byName   map[string]int
	all      []Skill // those that do not count too
	problems []Problem
	disabled map[Scope][]string
	index    string
}

// Skills returns all skills, those that are switched off too.
func (s *Snapshot) Skills() []Skill { return slices.Clone(s.skills) }

// Enabled returns the skills that are not switched off.
func (s *Snapshot) Enabled() []Skill {
	return slices.DeleteFunc(s.Skills(), func(k Skill) bool { return k.Disabled })
}

// Find returns the skill of that name.
func (s *Snapshot) Find(name string) (Skill, bool) {
	i, ok := s.byName[name]
	if !ok {
		return Skill{}, false
	}
	return s.skills[i], true
}

// DisabledBy returns the scopes whose state file switches a skill off.
func (s *Snapshot) DisabledBy(name string) []Scope {
	var scopes []Scope
	for _, scope := range []Scope{User, Project} {
		if slices.Contains(s.disabled[scope], name) {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// Problems returns what is wrong, notes too.
func (s *Snapshot) Problems() []Problem { return slices.Clone(s.problems) }

// Skipped returns the problems because of which a folder is not a skill.
func (s *Snapshot) Skipped() []Problem {
	return slices.DeleteFunc(s.Problems(), func(p Problem) bool { return p.Note })
}

// Index is what a model is told of the skills in each request: the same text as long
// as nothing changes, "" when there is nothing to tell.
func (s *Snapshot) Index() string { return s.index }
