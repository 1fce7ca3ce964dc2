package fakefeishu

import (
	"net/http"
)

// Resource is a file or an image that came with a message.
type Resource struct {
	Name string // "" = it has none
	MIME string
	Data []byte
}

// Keep stores a resource and returns its key.
func (s *Server) Keep(r Resource) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := s.number("file_v3_")
	s.resources[key] = r
	return key
}

func (s *Server) download(w http.ResponseWriter, r *http.Request, _ []byte) {
	if e := s.authorized(r); e != nil {
		s.fail(w, e)
		return
	}
	if kind := r.URL.Query().Get("type"); kind != "image" && kind != "file" {
		s.fail(w, &apiError{code: 234001, msg: "Invalid request param."})
		return
	}
	s.mu.Lock()
	m, known := s.messages[r.PathValue("id")]
	res, is := s.resources[r.PathValue("key")]
	s.mu.Unlock()
	if !known || !is || m.Recalled {
		s.fail(w, &apiError{code: 234003, msg: "File not in msg."})
		return
	}
	if m.Type == "sticker" || m.Type == "merge_forward" {
		s.fail(w, &apiError{code: 234043, msg: "Unsupported message type."})
		return
	}
	if res.Name != "" {
		w.Header().Set("Content-Disposition", `attachment; filename="`+res.Name+`"`)
	}
	w.Header().Set("Content-Type", res.MIME)
	_, _ = w.Write(res.Data)
}
