package skills

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"picobot/internal/brief"
)

// scan is one look at one source.
type scan struct {
	source Source
	now    time.Time
	most   limits
	real   string // the source's directory, without links
	root   *os.Root

	folders  int
	full     bool // there are more skills than are read
	skills   []Skill
	problems []Problem
	stamps   []stamp
}

// scanSource reads a source. A directory that is not there holds no skills.
func scanSource(source Source, now time.Time, most limits) *scan {
	s := &scan{source: source, now: now, most: most}
	root, err := openSource(source)
	if err != nil {
		s.stamps = append(s.stamps, look(source.dir(), now))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return s
	}
	if err == nil {
		s.root = root
		defer func() { _ = root.Close() }()
		s.real, err = filepath.EvalSymlinks(source.dir())
	}
	if err != nil {
		s.problem("", "the folder of skills cannot be read: "+reason(err))
		return s
	}
	s.folder(".", 0)
	s.unique()
	return s
}

// openSource opens the directory of a source.
func openSource(s Source) (*os.Root, error) {
	if !s.Confined {
		return os.OpenRoot(s.dir())
	}
	base, err := os.OpenRoot(s.Base)
	if err != nil {
		return nil, err
	}
	defer func() { _ = base.Close() }()
	return base.OpenRoot(s.Path)
}

func (s *scan) at(rel string) string { return filepath.Join(s.source.dir(), rel) }

func (s *scan) problem(rel, message string) { s.add(rel, message, false) }

// limit says that something was not read because there is too much. It comes first:
// of very many problems not all are kept.
func (s *scan) limit(format string, max int) {
	s.problem("", fmt.Sprintf(format, max))
	last := len(s.problems) - 1
	s.problems = append([]Problem{s.problems[last]}, s.problems[:last]...)
}

func (s *scan) add(rel, message string, note bool) {
	name := path.Base(rel)
	if rel == "" || rel == "." {
		name = s.source.Name
	}
	s.problems = append(s.problems, Problem{
		Name: brief.Cut(brief.OneLine(name), maxName), Source: s.source.Name, Scope: s.source.Scope, Path: s.at(rel), Message: brief.OneLine(message), Note: note,
	})
}

// folder looks at a folder: it is a skill, or holds folders that may be. What it was
// like is noted before it is read, so that no change falls between the two.
func (s *scan) folder(rel string, depth int) {
	if s.folders++; s.folders > s.most.folders {
		if s.folders == s.most.folders+1 {
			s.limit("there are more than %d folders; the rest was not looked at", s.most.folders)
		}
		return
	}
	before := look(s.at(rel), s.now)
	names, more, err := readNames(s.root.FS(), rel)
	file := skillFile(names)
	if err == nil && file != "" && rel != "." {
		s.skill(rel, file)
		return
	}
	before.sawNames(names)
	s.stamps = append(s.stamps, before)
	if err != nil {
		s.problem(rel, reason(err))
		return
	}
	if file != "" {
		s.problem(file, "a skill is a folder: put SKILL.md into a folder of its own, named like the skill")
	}
	if more {
		s.problem(rel, fmt.Sprintf("there are more than %d entries in it; the rest was not looked at", maxEntries))
	}
	if depth == maxDepth {
		return
	}
	for _, name := range names {
		if !ignored(name) {
			s.entry(path.Join(rel, name), depth+1)
		}
	}
}

// entry looks at something in a folder. Files that are no skill are nobody's problem,
// a folder of the first level without any skill is.
func (s *scan) entry(rel string, depth int) {
	info, err := s.root.Lstat(rel)
	if err != nil {
		return // gone
	}
	noticed := len(s.skills) + len(s.problems)
	switch {
	case info.IsDir():
		s.folder(rel, depth)
	case info.Mode()&fs.ModeSymlink != 0:
		if !s.link(rel) {
			return
		}
	default:
		return
	}
	if depth == 1 && noticed == len(s.skills)+len(s.problems) {
		s.problem(rel, "there is no SKILL.md in it")
	}
}

// link looks at a link, and tells whether it leads to a folder. That one is a skill
// or nothing: following it further may lead in circles. A link that is changed changes
// the folder it is in, so it needs no stamp; where it leads out is not touched.
func (s *scan) link(rel string) bool {
	target, err := s.root.Stat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.problem(rel, "it is a link to nothing: delete it")
		return false
	case err != nil:
		s.problem(rel, reason(err))
		return false
	case !target.IsDir():
		return false
	}
	s.folder(rel, maxDepth)
	return true
}

// ignored are folders that are no skills of anybody's. What begins with a dot is
// hidden, and so is what a deletion or a creation in progress is called.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "__pycache__"
}

// skillFile finds SKILL.md among a folder's names, in any case, as it is spelled.
func skillFile(names []string) string {
	if _, ok := slices.BinarySearch(names, "SKILL.md"); ok {
		return "SKILL.md"
	}
	for _, name := range names {
		if strings.EqualFold(name, "SKILL.md") {
			return name
		}
	}
	return ""
}

// skill reads the skill in a folder.
func (s *scan) skill(rel, file string) {
	before := look(filepath.Join(s.at(rel), file), s.now)
	data, err := s.read(rel, file)
	before.saw(data)
	s.stamps = append(s.stamps, before)
	if len(s.skills) >= s.most.skills {
		if !s.full {
			s.full = true
			s.limit("there are more than %d skills; the rest was not read", s.most.skills)
		}
		return
	}
	var d document
	if err == nil {
		d, err = parse(data)
	}
	if err != nil {
		s.problem(rel, err.Error())
		return
	}
	name, note, err := named(d.name, path.Base(rel))
	if err != nil {
		s.problem(rel, err.Error())
		return
	}
	folder := filepath.Join(s.real, rel)
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	for _, n := range append(d.notes, note) {
		if n != "" {
			s.add(rel, n, true)
		}
	}
	s.skills = append(s.skills, Skill{
		Name: name, Description: d.description, Source: s.source.Name, Scope: s.source.Scope, Path: folder, Manual: d.manual,
		root: s.real, rel: rel, file: file,
	})
}

// read reads a SKILL.md. Only what lies in the skill's folder is read, whatever links
// are in it.
func (s *scan) read(rel, file string) ([]byte, error) {
	root, err := s.root.OpenRoot(rel)
	if err != nil {
		return nil, errors.New(reason(err))
	}
	defer func() { _ = root.Close() }()
	return readSkillFile(root, file)
}

func readSkillFile(root *os.Root, file string) ([]byte, error) {
	data, err := readFile(root, file, maxFile)
	if err != nil {
		return nil, fmt.Errorf("SKILL.md cannot be read: %s", reason(err))
	}
	return data, nil
}

func readDocument(root *os.Root, file string) (document, error) {
	data, err := readSkillFile(root, file)
	if err != nil {
		return document{}, err
	}
	return parse(data)
}

// named chooses a skill's name: the one in its front matter, or its folder's where
// that one is meant for people ("PDF Tools").
func named(written, folder string) (name, note string, err error) {
	if written != "" && escapes(written) {
		return "", "", fmt.Errorf("the name %q could lead out of the folder: use letters, digits and \"-\"", brief.Cut(written, maxName))
	}
	reason := CheckName(written)
	if reason == nil {
		if written != folder {
			note = fmt.Sprintf("the folder is called %q, the skill %q", brief.Cut(brief.OneLine(folder), maxName), written)
		}
		return written, note, nil
	}
	if err := CheckName(folder); err != nil {
		return "", "", fmt.Errorf("it has no usable name: %w", err)
	}
	if written != "" {
		note = fmt.Sprintf("the name %q cannot be used (%v), so the folder's is", brief.Cut(brief.OneLine(written), maxName), reason)
	}
	return folder, note, nil
}

// unique keeps the first of several skills with one name in one source. A link to a
// skill that is there anyway is no second one.
func (s *scan) unique() {
	linked := func(k Skill) int {
		if k.Path == filepath.Join(s.real, k.rel) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(s.skills, func(a, b Skill) int { return linked(a) - linked(b) })
	first := map[string]Skill{}
	s.skills = slices.DeleteFunc(s.skills, func(k Skill) bool {
		earlier, twice := first[k.Name]
		if !twice {
			first[k.Name] = k
			return false
		}
		if earlier.Path != k.Path {
			s.problem(k.rel, fmt.Sprintf("a skill called %s is in the folder %s already: rename one of them", k.Name, brief.OneLine(earlier.rel)))
		}
		return true
	})
}
