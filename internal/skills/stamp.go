package skills

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// settled is how long ago a file must have changed for its times to tell whether it
// changes again: clocks of file systems are coarse, and an edit within one tick of
// another leaves size and time as they were.
const settled = 2 * time.Second

// stamp is what a path looked like when it was read.
type stamp struct {
	path  string
	there bool
	mark  mark
	fresh bool // it had just been changed, so contents must be compared too
	sum   [sha256.Size]byte
}

// look stamps a path before it is read, so that no change falls between the two.
// Who reads it says with saw what was there.
func look(path string, now time.Time) stamp {
	s := stamp{path: path}
	s.mark, s.there = markOf(path)
	s.fresh = s.there && s.mark.isFresh(now)
	return s
}

func (s *stamp) saw(data []byte) {
	if s.fresh {
		s.sum = sha256.Sum256(data)
	}
}

// sawNames is saw for a directory.
func (s *stamp) sawNames(names []string) { s.saw([]byte(strings.Join(names, "\x00"))) }

// changed reports that the path is not what it was. It costs one system call, unless
// the path was fresh.
func (s *stamp) changed(now time.Time) bool {
	mark, there := markOf(s.path)
	if there != s.there || mark != s.mark {
		return true
	}
	if !s.fresh {
		return false
	}
	again := *s
	again.read()
	s.fresh = mark.isFresh(now)
	return again.sum != s.sum
}

// read sums up a file's text or a directory's names again. What cannot be read is
// like what is empty, the first time too.
func (s *stamp) read() {
	s.saw(nil)
	if s.mark.isDir() {
		if names, _, err := readNames(os.DirFS(s.path), "."); err == nil {
			s.sawNames(names)
		}
		return
	}
	root, err := os.OpenRoot(filepath.Dir(s.path))
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	if data, err := readFile(root, filepath.Base(s.path), maxState); err == nil {
		s.saw(data)
	}
}
