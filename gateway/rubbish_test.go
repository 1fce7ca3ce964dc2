package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// each of them is a way to write nothing that is there.
var rubbishIDs = []string{"nope", "%00", "%FF", "a%2Fb", "%E4%BD%A0", "%20", "a%2525", strings.Repeat("a", 5000)}

// rubbishBodies are no body that any endpoint takes.
var rubbishBodies = []string{"{", "[]", `{"nosuch":1}`, "{}{}", "\xff\xfe", `{"content":5,"action":5,"scope_key":5}`, strings.Repeat(`{"a":`, 20000), "\x00"}

// Whatever is asked, the answer is one of those that the document knows (rig.do
// compares), and whose fault it is is said rightly.
func TestAPI_Rubbish_IsRefusedAsDocumented(t *testing.T) {
	r := newRig(t)
	d, err := documented()
	require.NoError(t, err)
	for path, methods := range d.Paths {
		if path == "/ws" {
			continue
		}
		for method, op := range methods {
			method = strings.ToUpper(method)
			refused := func(path, body, why string) {
				t.Helper()
				status, answer, _ := r.do(method, path, func(req *http.Request) {
					if body != "" {
						req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
					}
				})
				if status < 400 || status >= 500 {
					t.Errorf("%s %.80s with %s: %d %.200s", method, path, why, status, answer)
				}
				if len(answer) > 4<<10 {
					t.Errorf("%s %.80s repeats what it was given", method, path)
				}
			}
			if strings.Contains(path, "{") {
				for _, id := range rubbishIDs {
					refused(strings.NewReplacer("{id}", id, "{name}", id).Replace(path), "", fmt.Sprintf("the id %.20s", id))
				}
			}
			if method == http.MethodPut || path == "/api/v1/skills" && method == http.MethodPost || path == "/api/v1/memories/maintain" {
				path := strings.Replace(path, "{id}", "x", 1)
				if path == "/api/v1/memories" {
					path += "?scope_key=cli:a&namespace=n&key=k"
				}
				for _, body := range rubbishBodies {
					refused(path, body, fmt.Sprintf("the body %.20q", body))
				}
			}
			for _, p := range op.Parameters {
				bad := map[string][]string{
					"limit":    {"0", "-1", "1000000000", "99999999999999999999", "abc", "1.5"},
					"from_seq": {"-1", "abc", "9223372036854775808"},
					"cursor":   {"rubbish", "\x00", "\xff", ".", "x.y", "1."},
					"status":   {"nope"},
				}
				for _, v := range bad[p.Name] {
					refused(strings.Replace(path, "{id}", "x", 1)+"?"+url.Values{p.Name: {v}}.Encode(), "", p.Name+" "+v)
				}
			}
		}
	}
}

// A client that sends all of its body before it looks for an answer finds one.
func TestAPI_BodyThatIsTooLarge_IsReadAndRefused(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ method, path string }{
		{"PUT", "/api/v1/jobs/x"}, {"PUT", "/api/v1/memories?scope_key=cli:a&namespace=n&key=k"}, {"POST", "/api/v1/skills"}, {"POST", "/api/v1/memories/maintain"},
	} {
		body := &counted{Reader: bytes.NewReader(make([]byte, 9<<20))}
		status, answer, _ := r.do(c.method, c.path, func(req *http.Request) { req.Body, req.ContentLength = io.NopCloser(body), 9<<20 })
		require.Equal(t, http.StatusRequestEntityTooLarge, status, answer)
		require.EqualValues(t, 9<<20, body.read.Load(), c.path)
	}
}

type counted struct {
	io.Reader
	read atomic.Int64 // the client may still be in Read when the answer is there
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read.Add(int64(n))
	return n, err
}

func TestJobs_AreListedWholeOrInPages(t *testing.T) {
	r := newRig(t)
	for _, id := range []string{"b", "a", "d.e", "c", "é"} {
		status, body, _ := r.do("PUT", "/api/v1/jobs/"+url.PathEscape(id), func(req *http.Request) { req.Body = io.NopCloser(strings.NewReader(dailyJob)) })
		require.Equal(t, http.StatusCreated, status, body)
	}
	type page struct {
		Items []struct{ ID string }
		Next  string
	}
	for limit, want := range map[string]int{"": 1, "1": 5, "2": 3, "5": 1, "1000": 1} {
		var ids []string
		cursor, pages := "", 0
		for {
			var p page
			r.get("/api/v1/jobs?"+url.Values{"limit": {limit}, "cursor": {cursor}}.Encode(), &p)
			for _, j := range p.Items {
				ids = append(ids, j.ID)
			}
			if pages++; p.Next == "" {
				break
			}
			cursor = p.Next
		}
		require.Equal(t, []string{"a", "b", "c", "d.e", "é"}, ids, limit)
		require.Equal(t, want, pages, limit)
	}
}
