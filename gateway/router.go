package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strings"

	"picobot/gateway/openapi"
)

// route is an endpoint. A resource's file returns its routes; routes gathers them.
type route struct {
	method  string
	path    string // a pattern of http.ServeMux, without method
	open    bool   // no token needed
	handler func(w http.ResponseWriter, r *http.Request) error
	// doc describes it in /api/v1/openapi.json. A test fails for a route without one.
	doc *openapi.Operation
}

func (s *Server) routes() []route {
	return slices.Concat(
		s.healthRoutes(),
		s.documentRoutes(),
		s.yieldRoutes(),
		s.liveRoutes(),
		s.metricsRoutes(),
		s.socketRoutes(),
		s.sessionRoutes(),
		s.turnRoutes(),
		s.jobRoutes(),
		s.memoryRoutes(),
		s.maintenanceRoutes(),
		s.skillRoutes(),
	)
}

// handler returns the whole of a server: checks, routes, errors as JSON.
func (d *door) handler(routes []route) http.Handler {
	byPath := map[string]map[string]route{}
	for _, rt := range routes {
		if byPath[rt.path] == nil {
			byPath[rt.path] = map[string]route{}
		}
		byPath[rt.path][rt.method] = rt
	}
	mux := http.NewServeMux()
	for path, methods := range byPath {
		mux.Handle(path, d.endpoint(methods))
	}
	mux.Handle("/", d.endpoint(nil))
	return d.recovered(d.gate(unredirected(mux, d.endpoint(nil))))
}

// unredirected answers paths that the mux would redirect to a cleaner spelling, before
// any token is looked at, as paths that are not there.
func unredirected(mux *http.ServeMux, missing http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path.Clean("/"+r.URL.Path) && r.URL.Path != "/" {
			missing.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// endpoint answers the methods of one path; no methods = there is nothing here.
func (d *door) endpoint(methods map[string]route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		rt, ok := methods[method]
		known := d.guard.knows(r)
		if c, ok := netConn(r); known && ok {
			d.lobby.leave(c)
		}
		var err error
		switch {
		case !rt.open && !known:
			err = errUnauthorized
			w.Header().Set("WWW-Authenticate", "Bearer")
		case methods == nil:
			err = notFound("there is nothing at %s", r.URL.Path)
		case !ok:
			w.Header().Set("Allow", allowed(methods))
			err = &httpError{http.StatusMethodNotAllowed, "method_not_allowed", fmt.Sprintf("%s takes %s only", r.URL.Path, allowed(methods))}
		default:
			err = rt.handler(w, r)
		}
		if err != nil {
			d.writeError(w, r, err)
		}
	})
}

func allowed(methods map[string]route) string {
	var out []string
	for m := range methods {
		out = append(out, m)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// recovered answers a panic in a handler with an error and keeps the server alive.
func (d *door) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				d.log.Error("a request panicked", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
				d.writeError(w, r, &httpError{http.StatusInternalServerError, "internal", "something is wrong in the gateway: see its log"})
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return writeJSONText(w, status, b)
}

func writeJSONText(w http.ResponseWriter, status int, b []byte) error {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // a peer that has gone needs no answer
	return nil
}

// list is how every list is answered.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

func writeList[T any](w http.ResponseWriter, items []T, next string) error {
	if items == nil {
		items = []T{}
	}
	return writeJSON(w, http.StatusOK, list[T]{items, next})
}
