package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

const (
	// maxBody bounds what a request carries besides messages, in bytes.
	maxBody = 1 << 20
	// maxUnread bounds what is read of a larger body and thrown away, in bytes: many
	// clients look for an answer only once they have sent everything, and take a connection
	// that is closed before for a broken one.
	maxUnread = 32 << 20
)

// readBody reads a request's body as one JSON object without unknown keys. An empty
// body is an empty object.
func readBody(r *http.Request, into any) error {
	body, err := wholeBody(r)
	if err != nil {
		return err
	}
	if len(body) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return badRequest("the body is not what is expected here: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return badRequest("the body must be one JSON object and nothing after it")
	}
	return nil
}

// wholeBody reads a body as it is.
func wholeBody(r *http.Request) ([]byte, error) { return bodyUpTo(r, maxBody) }

// bodyUpTo is wholeBody for one of up to most bytes.
func bodyUpTo(r *http.Request, most int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, most))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		_, _ = io.CopyN(io.Discard, r.Body, maxUnread)
		return nil, &httpError{http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body is larger than %d MiB", most>>20)}
	}
	if err != nil {
		return nil, badRequest("the body could not be read: %v", err)
	}
	return body, nil
}
