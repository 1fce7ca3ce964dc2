package tools

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"picobot/internal/brief"
	"picobot/internal/netguard"
	"picobot/internal/tools/page"
)

const (
	defaultHTTPTimeout = 30 * time.Second
	defaultHTTPBytes   = 2 << 20
	maxRedirects       = 10
	userAgent          = "Mozilla/5.0 (compatible; PicoBot/1.0)"
)

// HTTPOptions of http_request and web_fetch. Zero values have the defaults of the
// configuration.
type HTTPOptions struct {
	Guard    *netguard.Guard // what may be reached; nil = only public addresses
	Timeout  time.Duration   // of a whole exchange; 0 = 30 s
	MaxBytes int64           // that are read of an answer, unpacked; 0 = 2 MiB
}

func (o HTTPOptions) withDefaults() HTTPOptions {
	if o.Guard == nil {
		o.Guard = netguard.New(netguard.Options{})
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultHTTPTimeout
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultHTTPBytes
	}
	return o
}

// exchange is one answer, read as far as the limit goes.
type exchange struct {
	status string // "200 OK"
	code   int
	header http.Header
	final  *url.URL
	data   []byte
	more   bool // there is more than data
}

func (e exchange) contentType() string { return e.header.Get("Content-Type") }

// question is what to send.
type question struct {
	method string
	url    string
	header http.Header
	body   string
	// follow is whether redirects are followed. What acts on the world acts where
	// it was told to.
	follow bool
}

// ask sends a question and reads the answer. Its errors are for the model, and hold
// nothing of the question's headers and body.
func (o HTTPOptions) ask(ctx context.Context, q question) (exchange, error) {
	target, err := o.Guard.CheckURL(q.url)
	if err != nil {
		return exchange{}, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, o.Timeout, errTimeout)
	defer cancel()
	var body io.Reader
	if q.body != "" {
		body = strings.NewReader(q.body)
	}
	req, err := http.NewRequestWithContext(limited, q.method, target.String(), body)
	if err != nil {
		return exchange{}, errors.New("this request cannot be made: check the method and the URL")
	}
	req.Header = q.header
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", userAgent)
	}
	transport := o.Guard.Transport()
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: o.redirect(q)}
	res, err := client.Do(req)
	if err != nil {
		return exchange{}, o.explain(limited, q, err)
	}
	defer func() { _ = res.Body.Close() }()
	e := exchange{status: res.Status, code: res.StatusCode, header: res.Header, final: res.Request.URL}
	if e.data, e.more, err = page.Read(res.Body, o.MaxBytes); err != nil {
		return exchange{}, o.explain(limited, q, err)
	}
	return e, nil
}

// redirect decides on each step. Where it leads is dialled through the guard like
// everything; headers that the model gave are for the host that it named.
func (o HTTPOptions) redirect(q question) func(*http.Request, []*http.Request) error {
	return func(next *http.Request, before []*http.Request) error {
		if !q.follow {
			return http.ErrUseLastResponse
		}
		if len(before) > maxRedirects {
			return fmt.Errorf("the address redirects more than %d times", maxRedirects)
		}
		if _, err := o.Guard.CheckURL(next.URL.String()); err != nil {
			return err
		}
		if first := before[0].URL; next.URL.Host != first.Host || next.URL.Scheme != first.Scheme {
			kept := http.Header{}
			for _, name := range []string{"Accept", "Accept-Language", "User-Agent"} {
				if value := next.Header.Get(name); value != "" {
					kept.Set(name, value)
				}
			}
			next.Header = kept
		}
		return nil
	}
}

// explain words a failure for the model. Where the question may have arrived, that
// is said: doing it again could do it twice.
func (o HTTPOptions) explain(ctx context.Context, q question, err error) error {
	if refusal := netguard.Reason(err); refusal != nil {
		return refusal
	}
	cause := context.Cause(ctx)
	reason := err
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		reason = wrapped.Err // else the whole URL is repeated
	}
	var dns *net.DNSError
	var dial *net.OpError
	var certificate *tls.CertificateVerificationError
	sent := true
	switch {
	case errors.As(err, &dns):
		sent = false
		reason = fmt.Errorf("the host %s cannot be found: check its spelling", quote(dns.Name))
		if dns.IsTimeout || dns.IsTemporary {
			reason = fmt.Errorf("the name of the host %s could not be looked up: try again later", quote(dns.Name))
		}
	case errors.As(err, &certificate):
		sent = false
		reason = fmt.Errorf("the host cannot prove who it is: %w", certificate.Err)
	case errors.As(err, &dial) && dial.Op == "dial":
		sent = false
		reason = fmt.Errorf("the host does not take connections: %w", plainNet(dial))
	}
	switch {
	case errors.Is(cause, errTimeout):
		reason = fmt.Errorf("no complete answer within %s (the operator sets tools.http.timeout_seconds)", o.Timeout)
	case cause != nil:
		reason = cause
	}
	if sent && !q.follow {
		return fmt.Errorf("%w. The request may have arrived and been acted on: look before you send it again", reason)
	}
	return reason
}

// plainNet strips the addresses that net puts around a reason.
func plainNet(err *net.OpError) error {
	if err.Timeout() {
		return errors.New("it did not answer in time")
	}
	return err.Err
}

// notRead says that an answer goes on.
func (o HTTPOptions) notRead() string {
	return fmt.Sprintf("\n[the answer is longer than the %d bytes that are read of one; the rest is missing]", o.MaxBytes)
}

// size is how large an answer is, as far as that is known.
func (e exchange) size() string {
	if !e.more {
		return fmt.Sprintf("%d bytes", len(e.data))
	}
	if length := e.header.Get("Content-Length"); length != "" {
		return brief.Cut(brief.OneLine(length), 20) + " bytes"
	}
	return fmt.Sprintf("more than %d bytes", len(e.data))
}

// kind names the type of an answer, for messages.
func (e exchange) kind() string {
	media := page.MediaType(e.contentType(), e.data)
	if encoding := e.header.Get("Content-Encoding"); encoding != "" {
		media += ", packed as " + encoding
	}
	return brief.Cut(brief.OneLine(media), maxQuoted)
}

// text decodes the answer; false when it is none. What is still packed here is
// packed in a way that was not asked for.
func (e exchange) text() (string, bool) {
	if encoding := e.header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return "", len(e.data) == 0
	}
	return page.Text(e.contentType(), e.data)
}
