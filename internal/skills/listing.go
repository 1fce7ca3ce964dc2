package skills

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Listing is what is known of skills, for programs.
type Listing struct {
	Items   []Item        `json:"items"`
	Next    string        `json:"next"` // always "": the list is whole
	Skipped []ProblemItem `json:"skipped"`
}

// Item is a skill.
type Item struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Source      string   `json:"source"`
	Scope       Scope    `json:"scope"`
	Path        string   `json:"path"`
	Enabled     bool     `json:"enabled"`
	Manual      bool     `json:"manual"`    // not offered to the model
	Overrides   []string `json:"overrides"` // sources whose skill of this name does not count
}

// ProblemItem is a folder that is no skill.
type ProblemItem struct {
	Name    string `json:"name"`
	Source  string `json:"source"`
	Scope   Scope  `json:"scope"`
	Path    string `json:"path"`
	Problem string `json:"problem"`
}

// Detail is a skill with what is in its folder.
type Detail struct {
	Item
	Files   []string `json:"files"`
	Content string   `json:"content"` // the instructions
}

// Listing returns all skills, and what was skipped.
func (s *Snapshot) Listing() Listing {
	l := Listing{Items: []Item{}, Skipped: []ProblemItem{}}
	for _, k := range s.skills {
		l.Items = append(l.Items, k.Item())
	}
	for _, p := range s.Skipped() {
		l.Skipped = append(l.Skipped, ProblemItem{p.Name, p.Source, p.Scope, p.Path, p.Message})
	}
	return l
}

// Item returns the skill for programs.
func (k Skill) Item() Item {
	return Item{k.Name, k.Description, k.Source, k.Scope, k.Path, !k.Disabled, k.Manual, append([]string{}, k.Overrides...)}
}

// Detail returns what was read for programs.
func (a Activation) Detail() Detail {
	return Detail{Item: a.Skill.Item(), Files: append([]string{}, a.Files...), Content: a.Body}
}

// Check looks at a directory as if it were a source of skills, or at one skill's
// folder, and returns what it found.
func Check(dir string, now time.Time) ([]Skill, []Problem, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("check %s: %w", dir, err)
	}
	names, _, err := readNames(os.DirFS(abs), ".")
	if err != nil {
		return nil, nil, fmt.Errorf("check %s: %s", dir, reason(err))
	}
	source := Source{Name: dir, Base: abs, Path: "."}
	if file := skillFile(names); file != "" {
		s := &scan{source: Source{Name: dir, Base: filepath.Dir(abs), Path: "."}, now: now, most: sourceLimits(), real: filepath.Dir(abs)}
		if s.root, err = os.OpenRoot(filepath.Dir(abs)); err != nil {
			return nil, nil, fmt.Errorf("check %s: %s", dir, reason(err))
		}
		defer func() { _ = s.root.Close() }()
		s.skill(filepath.Base(abs), file)
		return s.skills, s.problems, nil
	}
	s := scanSource(source, now, sourceLimits())
	return s.skills, s.problems, nil
}
