package seen

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

const (
	// most is how many dialogs are kept: those that were seen last.
	most    = 200
	maxFile = 1 << 20
)

// Seen is the file and what this process has seen since. It is safe for concurrent
// use; of several processes that save, each adds to what the others have seen.
type Seen struct {
	path string

	mu    sync.Mutex
	order []string // of sessions, the one seen last at the end
	upto  map[string]int64
	dirty bool
}

// Open reads the file. One that is not there, or that makes no sense, is empty: then
// nothing is known to be news.
func Open(path string) (*Seen, error) {
	s := &Seen{path: path, upto: map[string]int64{}}
	return s, s.read()
}

func (s *Seen) read() error {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() > maxFile {
		return nil
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(s.path)
	}
	if err != nil {
		return fmt.Errorf("read what was seen: %w", err)
	}
	for l := range strings.SplitSeq(string(data), "\n") {
		number, session, ok := strings.Cut(l, " ")
		if seq, err := strconv.ParseInt(number, 10, 64); ok && err == nil && session != "" {
			s.see(session, seq)
		}
	}
	return nil
}

func (s *Seen) see(session string, seq int64) {
	before, known := s.upto[session]
	if known && before >= seq {
		return
	}
	if n := len(s.order); n == 0 || s.order[n-1] != session {
		for i, other := range s.order {
			if other == session {
				s.order = append(s.order[:i:i], s.order[i+1:]...)
				break
			}
		}
		s.order = append(s.order, session)
	}
	s.upto[session], s.dirty = seq, true
	for len(s.order) > most {
		delete(s.upto, s.order[0])
		s.order = s.order[1:]
	}
}

// See notes that a dialog was seen up to a row.
func (s *Seen) See(session string, seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.see(session, seq)
}

// Upto returns the last row of a dialog that was seen; known is false for one that
// nobody has looked at here.
func (s *Seen) Upto(session string) (seq int64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seq, known = s.upto[session]
	return seq, known
}

// Save writes the file, if there is anything new.
func (s *Seen) Save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.dirty {
		return nil
	}
	if err := s.read(); err != nil { // what others have seen meanwhile
		return err
	}
	var out strings.Builder
	for _, session := range s.order {
		fmt.Fprintf(&out, "%d %s\n", s.upto[session], session)
	}
	tmp, err := os.CreateTemp(filepath.Dir(s.path), filepath.Base(s.path)+".*") // 0600
	if err != nil {
		return fmt.Errorf("write what was seen: %w", err)
	}
	_, err = tmp.WriteString(out.String())
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), s.path)
	}
	if err != nil {
		return fmt.Errorf("write what was seen: %w", errors.Join(err, os.Remove(tmp.Name())))
	}
	s.dirty = false
	return nil
}
