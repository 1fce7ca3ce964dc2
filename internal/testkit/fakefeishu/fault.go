package fakefeishu

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Call is a request as it came.
type Call struct {
	Method, Path string
	Body         string
	Token        string
	UUID         string
	At           time.Time
}

// Fault is something that goes wrong with requests.
type Fault struct {
	Method string // "" = any
	Path   string // contained in the path
	Body   string // contained in the body
	Times  int    // how many requests it happens to, 0 = one, < 0 = all

	// One of these. None = Status and Code are answered instead.
	Cut    bool // the connection is cut after the request was carried out
	Drop   bool // the connection is cut before it is
	Hang   bool // it is not answered, and not carried out
	Silent bool // it is carried out and not answered
	Slow   time.Duration
	HTML   bool // something on the way answers, with Status and a page

	Status int
	Code   int
	Msg    string
	Header http.Header
}

// Arrange makes faults happen; the first that fits a request happens to it.
func (s *Server) Arrange(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		if f.Times == 0 {
			f.Times = 1
		}
		s.faults = append(s.faults, &f)
	}
}

// Repair forgets all faults.
func (s *Server) Repair() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Waiting says how many faults have not happened as often as they were to.
func (s *Server) Waiting() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.Times > 0 {
			n++
		}
	}
	return n
}

// Calls lists the requests to a path (of a method, if one is given).
func (s *Server) Calls(method, path string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Call
	for _, c := range s.calls {
		if (method == "" || c.Method == method) && strings.Contains(c.Path, path) {
			out = append(out, c)
		}
	}
	return out
}

// fault takes the fault that is to happen to a request. s.mu is held.
func (s *Server) fault(c Call) *Fault {
	i := slices.IndexFunc(s.faults, func(f *Fault) bool {
		return f.Times != 0 && (f.Method == "" || f.Method == c.Method) && strings.Contains(c.Path, f.Path) && strings.Contains(c.Body, f.Body)
	})
	if i < 0 {
		return nil
	}
	f := s.faults[i]
	if f.Times > 0 {
		f.Times--
	}
	copied := *f
	return &copied
}

// faulty records a request and lets its fault happen.
func (s *Server) faulty(h func(http.ResponseWriter, *http.Request, []byte)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body := read(r)
		c := Call{Method: r.Method, Path: r.URL.Path, Body: string(body), Token: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), UUID: uuidOf(body), At: time.Now()}
		s.mu.Lock()
		s.calls = append(s.calls, c)
		f := s.fault(c)
		s.happened()
		s.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case f == nil:
			h(w, r, body)
		case f.Drop:
			panic(http.ErrAbortHandler)
		case f.Cut:
			h(discard{header: http.Header{}}, r, body)
			panic(http.ErrAbortHandler)
		case f.Hang:
			s.hang(r)
		case f.Silent:
			h(discard{header: http.Header{}}, r, body)
			s.hang(r)
		case f.Slow > 0:
			select {
			case <-time.After(f.Slow):
			case <-s.done:
			}
			h(w, r, body)
		case f.HTML:
			http.Error(w, "<html>this is not Feishu</html>", f.Status)
		default:
			s.fail(w, &apiError{status: f.Status, code: f.Code, msg: f.Msg, header: f.Header})
		}
	}
}

func (s *Server) hang(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.done:
	}
	panic(http.ErrAbortHandler)
}

type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}
