package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"picobot/internal/brief"
)

//go:embed http_request.md
var httpRequestDescription string

const (
	maxHeaders     = 50
	maxHeaderValue = 8192
	maxShownHeader = 500
)

type httpRequestArgs struct {
	Method  string            `json:"method" jsonschema:"GET, HEAD, OPTIONS, POST, PUT, PATCH or DELETE"`
	URL     string            `json:"url" jsonschema:"the whole URL, beginning with https:// or http://"`
	Headers map[string]string `json:"headers,omitempty" jsonschema:"request headers by name"`
	Body    string            `json:"body,omitempty" jsonschema:"request body"`
}

func (a httpRequestArgs) method() string { return strings.ToUpper(strings.TrimSpace(a.Method)) }

// safe methods change nothing (RFC 9110, section 9.2.1), so they may simply run again.
func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// HTTPRequest is the tool http_request.
func HTTPRequest(opts HTTPOptions) Tool {
	opts = opts.withDefaults()
	return New(Spec[httpRequestArgs]{
		Name:        "http_request",
		Description: httpRequestDescription,
		Effect:      Outside,
		EffectOf: func(a httpRequestArgs) Effect {
			if safe(a.method()) {
				return ReadOnly
			}
			return Outside
		},
		// Queries, headers and bodies may hold keys.
		Summary: func(a httpRequestArgs) string { return a.method() + " " + withoutQuery(a.URL) },
	}, func(ctx context.Context, _ Call, a httpRequestArgs) (string, error) {
		q, err := a.question()
		if err != nil {
			return "", err
		}
		e, err := opts.ask(ctx, q)
		if err != nil {
			return "", err
		}
		return opts.present(e, q), nil
	})
}

func withoutQuery(raw string) string {
	if i := strings.IndexAny(raw, "?#"); i >= 0 {
		return raw[:i] + "?…"
	}
	return raw
}

func (a httpRequestArgs) question() (question, error) {
	method := a.method()
	if !safe(method) && !slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, method) {
		return question{}, fmt.Errorf("the method %s is not sent: use GET, HEAD, OPTIONS, POST, PUT, PATCH or DELETE", quote(a.Method))
	}
	if a.Body != "" && safe(method) {
		return question{}, fmt.Errorf("a %s request has no body: use POST, or put it into the URL", method)
	}
	header, err := requestHeader(a.Headers)
	if err != nil {
		return question{}, err
	}
	if a.Body != "" && header.Get("Content-Type") == "" {
		header.Set("Content-Type", "text/plain; charset=utf-8")
		if json.Valid([]byte(a.Body)) {
			header.Set("Content-Type", "application/json")
		}
	}
	return question{method: method, url: a.URL, header: header, body: a.Body, follow: safe(method)}, nil
}

// requestHeader checks headers from a model. Their values are repeated nowhere.
func requestHeader(given map[string]string) (http.Header, error) {
	if len(given) > maxHeaders {
		return nil, fmt.Errorf("these are %d headers, at most %d are sent", len(given), maxHeaders)
	}
	header := http.Header{}
	for _, name := range sortedKeys(given) {
		value := strings.TrimSpace(given[name])
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return nil, fmt.Errorf("%s is no name of a header", quote(name))
		case managed(name):
			return nil, fmt.Errorf("the header %s belongs to the connection and cannot be set: leave it out", quote(name))
		case len(value) > maxHeaderValue:
			return nil, fmt.Errorf("the value of the header %s is too long (%d bytes, at most %d)", quote(name), len(value), maxHeaderValue)
		case !httpguts.ValidHeaderFieldValue(value):
			return nil, fmt.Errorf("the value of the header %s has control characters in it", quote(name))
		case len(header.Values(name)) > 0:
			return nil, fmt.Errorf("the header %s is given twice, in different spellings", quote(name))
		}
		header.Set(name, value)
	}
	return header, nil
}

// managed names headers that say who is asked, and how the bytes travel (hop-by-hop
// headers, RFC 9110 section 7.6.1): a wrong one makes two servers in a row read two
// different requests, or reaches a site that the URL does not name.
func managed(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "proxy-") || slices.Contains([]string{
		"host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "content-length",
		"accept-encoding", "expect", "http2-settings",
	}, name)
}

// shownHeaders are those of an answer that a model can do something with. Cookies
// are not: nothing keeps them.
func shownHeaders() []string {
	return []string{"Content-Type", "Content-Length", "Content-Encoding", "Content-Disposition", "Location", "Allow", "Etag", "Last-Modified",
		"Link", "Retry-After", "Www-Authenticate", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset",
		"Access-Control-Allow-Origin", "Access-Control-Allow-Methods"}
}

func (o HTTPOptions) present(e exchange, q question) string {
	var b strings.Builder
	b.WriteString(brief.Cut(brief.OneLine(e.status), maxShownHeader) + "\n")
	if final := e.final.String(); q.follow && final != q.url {
		b.WriteString("final url: " + final + "\n")
	}
	for _, name := range shownHeaders() {
		if values := e.header.Values(name); len(values) > 0 {
			b.WriteString(strings.ToLower(name) + ": " + brief.Cut(brief.OneLine(strings.Join(values, ", ")), maxShownHeader) + "\n")
		}
	}
	text, ok := e.text()
	switch {
	case !ok:
		fmt.Fprintf(&b, "\n[the body is no text (%s, %s) and is not shown]", e.kind(), e.size())
	case text != "":
		b.WriteString("\n" + text)
		if e.more {
			b.WriteString(o.notRead())
		}
	case q.method != http.MethodHead:
		b.WriteString("\n[no body]")
	}
	return b.String()
}
