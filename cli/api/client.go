package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxAnswer bounds an answer. Lists come in pages far below it.
const maxAnswer = 64 << 20

// Client asks one gateway. It is safe for concurrent use.
type Client struct {
	url   string
	token string
	http  *http.Client
}

// New returns a client of the gateway at base (http://host:port).
func New(base, token string, hc *http.Client) *Client {
	return &Client{url: strings.TrimRight(base, "/"), token: token, http: hc}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Error is a refusal of the gateway's.
type Error struct {
	Status  int    // of HTTP
	Code    string // such as not_found
	Message string // one sentence for people
}

func (e *Error) Error() string { return e.Message }

// Path joins segments to a path below /api/v1, each escaped: ids may hold anything.
func Path(segments ...string) string {
	escaped := make([]string, len(segments))
	for i, s := range segments {
		escaped[i] = url.PathEscape(s)
	}
	return "/api/v1/" + strings.Join(escaped, "/")
}

// Get reads what is at path into out.
func (c *Client) Get(ctx context.Context, path string, query url.Values, out any) error {
	_, err := c.Do(ctx, http.MethodGet, path, query, nil, out)
	return err
}

// Put writes in to path, and reads the answer into out unless that is nil. created
// tells whether it was not there before.
func (c *Client) Put(ctx context.Context, path string, query url.Values, in, out any) (created bool, err error) {
	status, err := c.Do(ctx, http.MethodPut, path, query, in, out)
	return status == http.StatusCreated, err
}

// Post asks for an action; in and out may be nil.
func (c *Client) Post(ctx context.Context, path string, query url.Values, in, out any) error {
	_, err := c.Do(ctx, http.MethodPost, path, query, in, out)
	return err
}

// Delete deletes what is at path.
func (c *Client) Delete(ctx context.Context, path string, query url.Values) error {
	_, err := c.Do(ctx, http.MethodDelete, path, query, nil, nil)
	return err
}

// Do sends a request and reads its answer. in is sent as JSON (json.RawMessage as it
// is, nil = no body), out is read as JSON (nil = the answer is of no interest). A
// status of 400 and more is an *Error.
func (c *Client) Do(ctx context.Context, method, path string, query url.Values, in, out any) (status int, err error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return 0, fmt.Errorf("write the request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	target := c.url + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return 0, fmt.Errorf("ask the gateway: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, fmt.Errorf("ask the gateway: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return resp.StatusCode, fmt.Errorf("read the gateway's answer: %w", err)
	case len(answer) > maxAnswer:
		return resp.StatusCode, fmt.Errorf("the gateway's answer is larger than %d MB: ask for less at once", maxAnswer>>20)
	case resp.StatusCode >= http.StatusBadRequest:
		return resp.StatusCode, refusal(resp.StatusCode, answer)
	case out == nil:
		return resp.StatusCode, nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return resp.StatusCode, fmt.Errorf("read the gateway's answer (is it PicoBot of this version?): %w", err)
	}
	return resp.StatusCode, nil
}

func refusal(status int, answer []byte) error {
	var body struct {
		Error struct{ Code, Message string }
	}
	e := &Error{Status: status}
	if json.Unmarshal(answer, &body) == nil {
		e.Code, e.Message = body.Error.Code, body.Error.Message
	}
	switch {
	case status == http.StatusUnauthorized:
		e.Message = "the gateway refuses the token: it was started with another gateway.token, restart it or correct the configuration"
	case e.Message == "":
		e.Message = fmt.Sprintf("the gateway answered with HTTP %d and no reason: see its log", status)
	}
	return e
}

// List reads all pages of a list. cursor is the parameter that takes an answer's
// "next", such as "cursor"; "" = the list has one page. At most limit items are
// read; 0 = all.
func List[T any](ctx context.Context, c *Client, path string, query url.Values, cursor string, limit int) ([]T, error) {
	items := []T{}
	q := url.Values{}
	for k, v := range query {
		q[k] = v
	}
	for {
		var page struct {
			Items []T    `json:"items"`
			Next  string `json:"next"`
		}
		if err := c.Get(ctx, path, q, &page); err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		switch {
		case limit > 0 && len(items) >= limit:
			return items[:limit], nil
		case page.Next == "" || cursor == "":
			return items, nil
		case page.Next == q.Get(cursor):
			return nil, fmt.Errorf("the gateway's list does not end: it names %q twice", page.Next)
		}
		q.Set(cursor, page.Next)
	}
}
