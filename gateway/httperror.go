package gateway

import (
	"errors"
	"fmt"
	"net/http"

	"picobot/internal/brief"
	"picobot/store"
)

// httpError is an answer that says what was wrong.
type httpError struct {
	status  int
	code    string
	message string
}

func (e *httpError) Error() string { return e.message }

var errUnauthorized = &httpError{http.StatusUnauthorized, "unauthorized", "present the gateway's token as Authorization: Bearer TOKEN"}

func badRequest(format string, args ...any) error {
	return &httpError{http.StatusBadRequest, "bad_request", fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) error {
	return &httpError{http.StatusNotFound, "not_found", fmt.Sprintf(format, args...)}
}

func conflict(format string, args ...any) error {
	return &httpError{http.StatusConflict, "conflict", fmt.Sprintf(format, args...)}
}

// missing says of which thing the record holds none with the id of the path.
func missing(what string, r *http.Request, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return notFound("there is no %s %q", what, brief.Cut(r.PathValue("id"), maxShownID))
	}
	return err
}

// maxShownID is how many characters of somebody's id are repeated.
const maxShownID = 200

// writeError answers an error; what is not meant for the outside is logged instead.
func (d *door) writeError(w http.ResponseWriter, r *http.Request, err error) {
	he, ok := errors.AsType[*httpError](err)
	switch {
	case ok:
	case errors.Is(err, store.ErrNotFound): // nothing is wrong here
		he = &httpError{http.StatusNotFound, "not_found", "there is no such thing in the record"}
	default:
		d.log.Error("a request failed", "method", r.Method, "path", r.URL.Path, "error", err)
		he = &httpError{http.StatusServiceUnavailable, "store_unavailable", "the record cannot be read or written now: try again"}
		if errors.Is(err, store.ErrDamaged) {
			he = &httpError{http.StatusInternalServerError, "internal", store.ErrDamaged.Error()}
		}
	}
	_ = writeJSON(w, he.status, apiError{apiProblem{he.code, he.message}}) // strings can always be written
}
