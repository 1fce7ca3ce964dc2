package llm

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Kind classifies what went wrong with a model call.
type Kind string

// Kinds of failure. The table in kinds says which may be retried.
const (
	KindRateLimited     Kind = "rate_limited"
	KindOverloaded      Kind = "overloaded"
	KindServer          Kind = "server_error"
	KindTimeout         Kind = "timeout"
	KindTransport       Kind = "transport"
	KindIncomplete      Kind = "incomplete_stream"
	KindAuth            Kind = "auth"
	KindQuota           Kind = "quota"
	KindNotFound        Kind = "not_found"
	KindBadRequest      Kind = "bad_request"
	KindContextTooLarge Kind = "context_too_large"
	KindContentFiltered Kind = "content_filtered"
	KindCanceled        Kind = "canceled"
)

// kinds is the one table from kind to class: may the same call be tried again?
var kinds = map[Kind]bool{
	KindRateLimited:     true,
	KindOverloaded:      true,
	KindServer:          true,
	KindTimeout:         true,
	KindTransport:       true,
	KindIncomplete:      true,
	KindAuth:            false,
	KindQuota:           false,
	KindNotFound:        false,
	KindBadRequest:      false,
	KindContextTooLarge: false,
	KindContentFiltered: false,
	KindCanceled:        false,
}

// Error is what a provider returns when a call fails. Message never holds a key
// or more than 512 bytes of what the endpoint sent.
type Error struct {
	Kind       Kind
	Status     int           // HTTP status, 0 when there was none
	RetryAfter time.Duration // what the endpoint asked to wait, 0 when it did not say
	Provider   string        // name in the config
	Model      string        // name in the config
	Message    string
	Err        error // cause, may be nil
}

func (e *Error) Error() string {
	msg := fmt.Sprintf("provider %s: %s", e.Provider, e.Kind)
	if e.Model != "" { // a ping asks no model
		msg = fmt.Sprintf("model %s at %s", e.Model, msg)
	}
	if e.Status != 0 {
		msg += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		msg += ": " + e.Message
	}
	return msg
}

func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether trying the same call again can help.
func (e *Error) Retryable() bool { return kinds[e.Kind] }

// KindOf returns the kind of the first *Error in err's chain, or "".
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// KindOfStatus maps an HTTP status to a kind: 408, 409, 429, 5xx and 529 can be
// retried, other statuses cannot. Adapters refine it where the body says more
// (an exhausted quota comes as 429, too long a context as 400).
func KindOfStatus(status int) Kind {
	switch {
	case status == http.StatusTooManyRequests:
		return KindRateLimited
	case status == 529 || status == http.StatusServiceUnavailable:
		return KindOverloaded
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		return KindTimeout
	case status == http.StatusConflict || status >= 500:
		return KindServer
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return KindAuth
	case status == http.StatusPaymentRequired:
		return KindQuota
	case status == http.StatusNotFound:
		return KindNotFound
	case status == http.StatusRequestEntityTooLarge:
		return KindContextTooLarge
	default:
		return KindBadRequest
	}
}
