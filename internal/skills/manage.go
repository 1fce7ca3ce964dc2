package skills

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"picobot/internal/brief"
)

// Change is who changes something, for the record.
type Change struct{ SessionID string }

// Create makes a skill: a folder with a SKILL.md, in the managed source of a scope.
// content is the instructions, or a whole SKILL.md.
func (l *Library) Create(ctx context.Context, c Change, scope Scope, name, description, content string) (Skill, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	source, err := l.managed(scope)
	if err != nil {
		return Skill{}, err
	}
	if err := CheckName(name); err != nil {
		return Skill{}, err
	}
	if _, ok := l.located(ctx, source, name); ok {
		return Skill{}, fmt.Errorf("there is a %s skill %s already: use update", scope, name)
	}
	text, err := compose(name, description, content, nil)
	if err != nil {
		return Skill{}, err
	}
	root, err := openDir(source.Base, source.Path, true)
	if err != nil {
		return Skill{}, err
	}
	defer func() { _ = root.Close() }()
	sweep(root, l.o.Now())
	if _, err := root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return Skill{}, fmt.Errorf("there is something called %s already, which is no working skill: update or delete it", name)
	}
	if err := makeFolder(root, name, "SKILL.md", []byte(text)); err != nil {
		return Skill{}, fmt.Errorf("the skill %s cannot be written: %w", name, err)
	}
	return l.done(ctx, c, Created, source, name)
}

// Update changes a skill's description, its instructions, or both; "" leaves one as
// it is. content that begins with front matter replaces the whole SKILL.md.
func (l *Library) Update(ctx context.Context, c Change, scope Scope, name, description, content string) (Skill, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	if description == "" && content == "" {
		return Skill{}, errors.New("there is nothing to change: give a description, content or both")
	}
	where, err := l.place(ctx, scope, name)
	if err != nil {
		return Skill{}, err
	}
	folder, err := openDir(where.source.Base, path.Join(where.source.Path, where.rel), false)
	if err != nil {
		return Skill{}, err
	}
	defer func() { _ = folder.Close() }()
	var before *document
	if info, err := folder.Lstat(where.file); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return Skill{}, fmt.Errorf("%s is a link, and skills are not written through links: change what it leads to yourself", where.file)
	} else if err == nil && info.Mode().IsRegular() {
		// One that cannot be read is replaced, if enough for a new one is given.
		if d, err := readDocument(folder, where.file); err == nil {
			before = &d
		}
	}
	written := name
	if before != nil && before.name != "" {
		written = before.name
	}
	text, err := compose(written, description, content, before)
	if err != nil {
		return Skill{}, err
	}
	if err := replace(folder, where.file, []byte(text)); err != nil {
		return Skill{}, fmt.Errorf("the skill %s cannot be written: %w", name, err)
	}
	return l.done(ctx, c, Updated, where.source, name)
}

// Delete deletes a skill with everything in its folder.
func (l *Library) Delete(ctx context.Context, c Change, scope Scope, name string) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	where, err := l.place(ctx, scope, name)
	if err != nil {
		return err
	}
	parent, err := openDir(where.source.Base, path.Join(where.source.Path, path.Dir(where.rel)), false)
	if err != nil {
		return err
	}
	defer func() { _ = parent.Close() }()
	sweep(parent, l.o.Now())
	folder := path.Base(where.rel)
	if info, err := parent.Lstat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is a link or no folder: delete it yourself", folder)
	}
	if err := removeFolder(parent, folder); err != nil {
		return fmt.Errorf("the skill %s cannot be deleted: %w", name, err)
	}
	_, err = l.done(ctx, c, Deleted, where.source, name)
	return err
}

// done reads everything anew, tells the recorder, and returns what was written.
func (l *Library) done(ctx context.Context, c Change, kind Kind, source Source, name string) (Skill, error) {
	snap := l.reload(ctx, string(kind)+" "+name, Event{Skill: name, Kind: kind, Scope: source.Scope, SessionID: c.SessionID})
	k, ok := snap.in(source, name)
	if kind != Deleted && !ok {
		return k, fmt.Errorf("%s was written, but is no working skill: see `picobot skills check`", name)
	}
	return k, nil
}

// managed returns the source of a scope that may be written to.
func (l *Library) managed(scope Scope) (Source, error) {
	if scope != User && scope != Project {
		return Source{}, fmt.Errorf("the scope must be %s or %s", Project, User)
	}
	for _, s := range l.o.Sources {
		if s.Scope == scope && s.Managed {
			return s, nil
		}
	}
	return Source{}, fmt.Errorf("%s skills are not used here (skills.sources leaves them out): use the other scope", scope)
}

// location is where a skill's files are.
type location struct {
	source    Source
	rel, file string
}

// in finds a skill in a source, be it in use or not.
func (s *Snapshot) in(source Source, name string) (Skill, bool) {
	real, err := filepath.EvalSymlinks(source.dir())
	if err != nil {
		return Skill{}, false
	}
	for _, k := range s.all {
		if k.root == real && k.Name == name {
			return k, true
		}
	}
	return Skill{}, false
}

func (l *Library) located(ctx context.Context, source Source, name string) (location, bool) {
	k, ok := l.Snapshot(ctx).in(source, name)
	return location{source, filepath.ToSlash(k.rel), k.file}, ok
}

// place finds what update and delete are about: a skill of the scope, or a folder
// that should be one.
func (l *Library) place(ctx context.Context, scope Scope, name string) (location, error) {
	source, err := l.managed(scope)
	if err != nil {
		return location{}, err
	}
	if err := CheckName(name); err != nil {
		return location{}, err
	}
	if where, ok := l.located(ctx, source, name); ok {
		return where, nil
	}
	if file, ok := broken(source, name); ok {
		return location{source, name, file}, nil
	}
	if k, ok := l.Snapshot(ctx).Find(name); ok {
		if k.Scope != scope {
			return location{}, fmt.Errorf("there is no %s skill %s, but a %s one: give scope %s if that is meant", scope, name, k.Scope, k.Scope)
		}
		return location{}, fmt.Errorf("%s belongs to %s, which other agents use too: it can be changed only by hand, in %s", name, k.Source, k.Path)
	}
	return location{}, fmt.Errorf("%w: %s", ErrUnknown, name)
}

// broken finds a folder that has a SKILL.md and is no skill all the same.
func broken(source Source, name string) (file string, ok bool) {
	names, _, err := readNames(os.DirFS(source.dir()), name)
	if err != nil {
		return "", false
	}
	file = skillFile(names)
	return file, file != ""
}

// Disable switches skills off in the state file of a scope, all of them or none; scope
// "" = each in its own. It returns those that were on.
func (l *Library) Disable(ctx context.Context, c Change, scope Scope, names []string) (changed []string, err error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	snap := l.Snapshot(ctx)
	if err := known(snap, names); err != nil {
		return nil, err
	}
	in := map[Scope][]string{}
	var events []Event
	for _, name := range names {
		k, ok := snap.Find(name)
		where := scope
		if where == "" {
			if where = k.Scope; !ok {
				continue // switched off long ago, and gone
			}
		}
		in[where] = append(in[where], name)
		if !k.Disabled && !slices.Contains(changed, name) {
			changed = append(changed, name)
			events = append(events, Event{Skill: name, Kind: Disabled, Scope: where, SessionID: c.SessionID})
		}
	}
	wrote := false
	for _, f := range l.o.States {
		ok, err := f.write(in[f.Scope], true)
		if err != nil {
			return nil, err
		}
		wrote = wrote || ok
	}
	if !wrote {
		return nil, nil
	}
	l.reload(ctx, "disabled "+strings.Join(names, ", "), events...)
	return changed, nil
}

// Enable switches skills on in the state file of a scope; "" = wherever they are
// switched off. It returns those that are on now and were not.
func (l *Library) Enable(ctx context.Context, _ Change, scope Scope, names []string) (changed []string, err error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	before := l.Snapshot(ctx)
	if err := known(before, names); err != nil {
		return nil, err
	}
	wrote := false
	for _, f := range l.states(scope) {
		ok, err := f.write(names, false)
		if err != nil {
			return nil, err
		}
		wrote = wrote || ok
	}
	if !wrote {
		return nil, nil
	}
	after := l.reload(ctx, "enabled "+strings.Join(names, ", "))
	for _, name := range names {
		if before.isDisabled(name) && !after.isDisabled(name) && !slices.Contains(changed, name) {
			changed = append(changed, name)
		}
	}
	return changed, nil
}

// known refuses names of which no skill and no state file knows.
func known(snap *Snapshot, names []string) error {
	if len(names) == 0 {
		return errors.New("no skill is named: give one or more names")
	}
	var unknown []string
	for _, name := range names {
		if _, ok := snap.Find(name); !ok && !snap.isDisabled(name) {
			unknown = append(unknown, brief.Cut(brief.OneLine(name), maxName))
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%w: %s (nothing was changed)", ErrUnknown, brief.Cut(strings.Join(unknown, ", "), 500))
	}
	return nil
}

// states are the state files of a scope; "" = all.
func (l *Library) states(scope Scope) []StateFile {
	return slices.DeleteFunc(slices.Clone(l.o.States), func(f StateFile) bool { return scope != "" && f.Scope != scope })
}

// write switches names off or on in the file, and tells whether that changed it.
func (f StateFile) write(names []string, disabled bool) (bool, error) {
	if len(names) == 0 {
		return false, nil
	}
	data, err := f.load()
	var s state
	if err == nil {
		s, err = parseState(data)
	}
	if err != nil {
		return false, fmt.Errorf("%s cannot be used: %w", filepath.Base(f.Path), err)
	}
	next, changed := s.with(names, disabled)
	if !changed {
		return false, nil
	}
	if data, err = next.encode(); err != nil {
		return false, fmt.Errorf("write %s: %w", filepath.Base(f.Path), err)
	}
	dir, err := openDir(f.Base, path.Dir(filepath.ToSlash(f.Path)), true)
	if err != nil {
		return false, err
	}
	defer func() { _ = dir.Close() }()
	if err := replace(dir, filepath.Base(f.Path), data); err != nil {
		return false, fmt.Errorf("%s cannot be written: %w", filepath.Base(f.Path), err)
	}
	return true, nil
}
