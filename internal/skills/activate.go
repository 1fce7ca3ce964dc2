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
)

// Activation is what a model is given of a skill.
type Activation struct {
	Skill Skill
	Body  string   // the instructions
	Files []string // of its folder, relative to it, without SKILL.md
	More  bool     // there are more files than were listed
}

// Errors of looking for a skill.
var (
	ErrUnknown  = errors.New("there is no skill of that name")
	ErrDisabled = errors.New("it is switched off")
)

// Activate reads a skill for use, as it is on disk now. detail goes into the event.
// Fails with ErrUnknown or ErrDisabled.
func (l *Library) Activate(ctx context.Context, name, sessionID string, detail map[string]any) (Activation, error) {
	k, ok := l.Snapshot(ctx).Find(name)
	switch {
	case !ok:
		return Activation{}, ErrUnknown
	case k.Disabled:
		return Activation{Skill: k}, ErrDisabled
	}
	a, err := read(k)
	if err != nil {
		return a, err
	}
	d := map[string]any{"source": k.Source, "path": k.Path}
	for key, v := range detail {
		d[key] = v
	}
	l.mu.Lock()
	l.pending = append(l.pending, Event{Skill: k.Name, Kind: Activated, Scope: k.Scope, SessionID: sessionID, Detail: d})
	l.mu.Unlock()
	l.hand(ctx)
	return a, nil
}

// Show reads a skill, also one that is switched off.
func (l *Library) Show(ctx context.Context, name string) (Activation, error) {
	k, ok := l.Snapshot(ctx).Find(name)
	if !ok {
		return Activation{}, ErrUnknown
	}
	return read(k)
}

func read(k Skill) (Activation, error) {
	a := Activation{Skill: k}
	root, err := os.OpenRoot(k.Path)
	if err != nil {
		return a, fmt.Errorf("the skill's folder cannot be opened: %s", reason(err))
	}
	defer func() { _ = root.Close() }()
	d, err := readDocument(root, k.file)
	if err != nil {
		return a, err
	}
	a.Body = placeholders(d.body, k.Path)
	a.Files, a.More = files(root)
	a.Files = slices.DeleteFunc(a.Files, func(f string) bool { return f == k.file })
	return a, nil
}

// placeholders are what other agents' skills call their own folder.
func placeholders(body, folder string) string {
	return strings.NewReplacer("{baseDir}", folder, "${CLAUDE_SKILL_DIR}", folder).Replace(body)
}

// files lists a folder's files.
func files(root *os.Root) (list []string, more bool) {
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		names, cut, err := readNames(root.FS(), dir)
		more = more || cut || err != nil
		for _, name := range names {
			at := path.Join(dir, name)
			info, err := root.Lstat(at)
			switch {
			case err != nil:
			case len(list) >= maxListedFiles:
				more = true
				return
			case info.IsDir():
				if ignored(name) {
					continue
				}
				if depth == maxListedDepth {
					more = true
					continue
				}
				walk(at, depth+1)
			case info.Mode().IsRegular(), info.Mode()&fs.ModeSymlink != 0 && leadsToFile(root, at):
				list = append(list, at)
			}
		}
	}
	walk(".", 1)
	return list, more
}

func leadsToFile(root *os.Root, at string) bool {
	info, err := root.Stat(at)
	return err == nil && info.Mode().IsRegular()
}

// Readable are the folders of the skills in use, which tools may read although they
// lie outside of the workspace.
func (l *Library) Readable(ctx context.Context) []string {
	var dirs []string
	for _, k := range l.Snapshot(ctx).Enabled() {
		dirs = append(dirs, k.Path)
	}
	return dirs
}

// ReadableIn are those of them in dir.
func (l *Library) ReadableIn(ctx context.Context, dir string) []string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return slices.DeleteFunc(l.Readable(ctx), func(path string) bool {
		rel, err := filepath.Rel(dir, path)
		return err != nil || !filepath.IsLocal(rel)
	})
}
