package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	maxLinks = 40   // symbolic links in a row that are followed, as in Linux
	maxPath  = 4096 // bytes
)

// Workspace is the directory that file tools and shell commands work in. Unless
// it was opened unrestricted, no path leads out of it: every file is opened
// through os.Root, which also holds while somebody swaps directories for links.
type Workspace struct {
	dir        string // absolute, without symbolic links
	alias      string // absolute, as it was given
	root       *os.Root
	restricted bool
	readable   func() []string // see AlsoRead; nil = nothing
}

// OpenWorkspace opens dir, creating it if it is missing. With restricted false,
// paths outside of it are allowed too. Close it when no tool runs any more.
func OpenWorkspace(dir string, restricted bool) (*Workspace, error) {
	alias, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	if err := os.MkdirAll(alias, 0o755); err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	real, err := filepath.EvalSymlinks(alias)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	return &Workspace{dir: real, alias: alias, root: root, restricted: restricted}, nil
}

// Dir returns the absolute path of the workspace.
func (w *Workspace) Dir() string { return w.dir }

// Close releases the workspace.
func (w *Workspace) Close() error { return w.root.Close() }

// AlsoRead names directories outside of the workspace that may be read, not written:
// the folders of skills. dirs is asked for each path anew, and returns absolute paths
// without links. Call it before the workspace is used.
func (w *Workspace) AlsoRead(dirs func() []string) { w.readable = dirs }

// locateToRead is locate for reading.
func (w *Workspace) locateToRead(path string) (place, error) {
	p, err := w.locate(path)
	if err == nil || w.readable == nil || len(path) > maxPath || !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return p, err
	}
	for _, dir := range w.readable() {
		name, relErr := filepath.Rel(dir, filepath.Clean(path))
		if relErr != nil || !filepath.IsLocal(name) {
			continue
		}
		root, openErr := os.OpenRoot(dir)
		if openErr != nil {
			return place{}, plain(openErr)
		}
		return place{root: root, name: name, shown: path, owned: true}, nil
	}
	return p, err
}

// locateToWrite is locate for writing. Where the workspace confines nothing, what may
// only be read is still not written, unless it lies in the workspace.
func (w *Workspace) locateToWrite(path string) (place, error) {
	p, err := w.locate(path)
	if err != nil || w.restricted || w.readable == nil {
		return p, err
	}
	full := filepath.Join(p.root.Name(), p.name)
	if _, inside := w.relative(full); inside {
		return p, nil
	}
	for _, dir := range w.readable() {
		if r, err := filepath.Rel(dir, full); err == nil && filepath.IsLocal(r) {
			p.close()
			return place{}, fmt.Errorf("%s belongs to a skill: change skills with skill_manage, and write results to the workspace", quote(path))
		}
	}
	return p, nil
}

// place is a path as a tool may use it: a name below a root that confines it.
type place struct {
	root  *os.Root
	name  string // relative to root
	shown string // for messages: relative to the workspace where it lies inside
	owned bool   // root is this place's own and closed with it
}

func (p place) close() {
	if p.owned {
		_ = p.root.Close()
	}
}

// errOutside is what the model is told of every path that leaves the workspace.
func errOutside(path string) error {
	return fmt.Errorf("%s is outside the workspace: use a path inside it, such as notes/todo.md (links that lead outside or are absolute are refused too)", quote(path))
}

// locate finds the place of a path from a model. The caller closes it.
func (w *Workspace) locate(path string) (place, error) {
	if path == "" {
		return place{}, errors.New("the path is empty: name a file in the workspace")
	}
	if len(path) > maxPath {
		return place{}, fmt.Errorf("the path is too long (%d bytes, at most %d)", len(path), maxPath)
	}
	if strings.ContainsRune(path, 0) {
		return place{}, errors.New("the path has a NUL character")
	}
	name := path
	if name == "~" || strings.HasPrefix(name, "~/") { // bash's HOME is the workspace
		name = "./" + strings.TrimPrefix(name[1:], "/")
	}
	if filepath.IsAbs(name) {
		relative, inside := w.relative(name)
		if !inside {
			if w.restricted {
				return place{}, errOutside(path)
			}
			return outside(filepath.Clean(name))
		}
		name = relative
	}
	name = filepath.Clean(name)
	if w.restricted {
		if !filepath.IsLocal(name) {
			return place{}, errOutside(path)
		}
		return place{root: w.root, name: name, shown: name}, nil
	}
	p, err := outside(filepath.Join(w.dir, name))
	if err == nil && filepath.IsLocal(name) {
		p.shown = name
	}
	return p, err
}

// relative rewrites an absolute path that lies, by its letters, in the workspace.
func (w *Workspace) relative(path string) (string, bool) {
	path = filepath.Clean(path)
	for _, dir := range []string{w.dir, w.alias} {
		if r, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(r) {
			return r, true
		}
	}
	return "", false
}

// outside is locate without confinement: links are followed wherever they lead,
// and the root is the nearest directory that exists.
func outside(path string) (place, error) {
	existing, missing := path, ""
	for {
		real, err := filepath.EvalSymlinks(existing)
		if err == nil {
			existing = real
			break
		}
		parent := filepath.Dir(existing)
		if !errors.Is(err, fs.ErrNotExist) || parent == existing {
			return place{}, plain(err)
		}
		missing = filepath.Join(filepath.Base(existing), missing)
		existing = parent
	}
	switch {
	case missing == "" && existing == filepath.Dir(existing): // the root of a file system
		missing = "."
	case missing == "":
		existing, missing = filepath.Dir(existing), filepath.Base(existing)
	}
	root, err := os.OpenRoot(existing)
	if err != nil {
		return place{}, plain(err)
	}
	return place{root: root, name: missing, shown: path, owned: true}, nil
}

// open opens a regular file for reading and never waits: not for the other end
// of a pipe, not for a device.
func (p place) open() (*os.File, fs.FileInfo, error) {
	// Looking first keeps devices closed, whose opening alone can act.
	info, err := p.root.Stat(p.name)
	if err == nil {
		err = p.checkRegular(info)
	}
	if err != nil {
		return nil, nil, p.explain(err)
	}
	// O_NONBLOCK is for a pipe that took the file's place just now.
	f, err := p.root.OpenFile(p.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, p.explain(err)
	}
	info, err = f.Stat()
	if err == nil {
		err = p.checkRegular(info)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, p.explain(err)
	}
	return f, info, nil
}

// dir and under are filepath.Dir and filepath.Join without Clean, which would
// take "link/.." away although link leads elsewhere.
func (p place) dir() string {
	i := strings.LastIndexByte(p.name, filepath.Separator)
	if i <= 0 {
		return "."
	}
	return p.name[:i]
}

func under(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + string(filepath.Separator) + name
}

// wrongKind is an error whose text needs no path in front of it.
type wrongKind struct{ text string }

func (e wrongKind) Error() string { return e.text }

func (p place) checkRegular(info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return wrongKind{fmt.Sprintf("%s is a directory: list it with bash (ls)", p.shown)}
	case mode&fs.ModeNamedPipe != 0:
		return wrongKind{p.shown + " is a named pipe, not a file"}
	case mode&fs.ModeSocket != 0:
		return wrongKind{p.shown + " is a socket, not a file"}
	}
	return wrongKind{p.shown + " is a device, not a file"}
}

// target follows the links at the end of the path, so that writing changes the
// file that a link names and leaves the link.
func (p place) target() (place, error) {
	for range maxLinks {
		info, err := p.root.Lstat(p.name)
		if errors.Is(err, fs.ErrNotExist) || (err == nil && info.Mode()&fs.ModeSymlink == 0) {
			return p, nil
		}
		if err != nil {
			return p, p.explain(err)
		}
		link, err := p.root.Readlink(p.name)
		if err != nil {
			return p, p.explain(err)
		}
		if filepath.IsAbs(link) {
			return p, errOutside(p.shown)
		}
		p.name = under(p.dir(), link)
	}
	return p, fmt.Errorf("%s is a link that leads in a circle", p.shown)
}

// explain words an error of the file system for the model: the path it gave,
// the reason, and no path of this machine.
func (p place) explain(err error) error {
	var kind wrongKind
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist", p.shown)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: permission denied", p.shown)
	case escapes(err):
		return errOutside(p.shown)
	}
	return fmt.Errorf("%s: %w", p.shown, plain(err))
}

// plain strips the path and operation that os puts around a reason.
func plain(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	var linkError *os.LinkError
	if errors.As(err, &linkError) {
		return linkError.Err
	}
	return err
}

// escapes recognises os.Root's refusal, which has no exported error.
func escapes(err error) bool {
	return strings.Contains(plain(err).Error(), "escapes")
}
