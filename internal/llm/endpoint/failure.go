package endpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"picobot/internal/llm"
)

// maxMessageBytes is how much of what an endpoint said is kept.
const maxMessageBytes = 512

// Failure is a failed call as it is seen on the wire; Endpoint.Error makes an
// *llm.Error of it.
type Failure struct {
	Kind       llm.Kind
	Status     int
	RetryAfter time.Duration
	Message    string
	// MissingModel is set where it is a model that was not found, not the address.
	MissingModel bool

	requestID string
}

func (f *Failure) Error() string { return f.Message }

// Refuses reports that the endpoint refused a request for its form and that one of the
// words, in lower case, is in what it says of it.
func Refuses(err error, words ...string) bool {
	refused, ok := errors.AsType[*Failure](err)
	if !ok || refused.Kind != llm.KindBadRequest {
		return false
	}
	message := strings.ToLower(refused.Message)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(message, w) })
}

// IsTransport reports an error of the network, as opposed to one that was said.
func IsTransport(err error) bool {
	_, said := errors.AsType[*Failure](err)
	return !said
}

// Error gives an error its final form: the caller's context first, then the
// attempt's own limits, then what the endpoint or the network said.
func (e *Endpoint) Error(ctx context.Context, a *Attempt, model string, err error) error {
	if ended := llm.ContextError(ctx, e.config.Name, model); ended != nil {
		return ended
	}
	out := &llm.Error{Provider: e.config.Name, Model: model}
	f, ok := errors.AsType[*Failure](err)
	id := ""
	switch {
	case ok:
		out.Kind, out.Status, out.RetryAfter, out.Message, id = f.Kind, f.Status, f.RetryAfter, f.Message, f.requestID
	case errors.Is(context.Cause(a.Context()), errIdle):
		out.Kind, out.Err = llm.KindTimeout, context.DeadlineExceeded
		out.Message = fmt.Sprintf("the stream fell silent for %s", a.idle)
	case a.Context().Err() != nil:
		out.Kind, out.Err = llm.KindTimeout, context.DeadlineExceeded
		out.Message = "no whole answer within the time limit"
	default:
		out.Kind, out.Err, out.Message = llm.KindTransport, err, err.Error()
	}
	message := e.scrub(out.Message)
	if message != out.Message {
		out.Err = nil // it would say again what was taken out
	}
	if id != "" {
		id = e.scrub(" (request " + id + ")")
	}
	out.Message = cut(message, maxMessageBytes-len(id)) + id
	return out
}

// scrub takes the endpoint's secrets out of a text.
func (e *Endpoint) scrub(s string) string {
	secrets := []string{e.config.APIKey}
	for _, value := range e.config.Headers {
		secrets = append(secrets, value)
		if _, token, ok := strings.Cut(value, " "); ok {
			secrets = append(secrets, token)
		}
	}
	for _, secret := range secrets {
		// Shorter values are no secrets, and taking them out would garble the text.
		if len(secret) >= 6 {
			s = strings.ReplaceAll(s, secret, "***")
		}
	}
	return s
}

// cut keeps the first max bytes of a text, whole runes of valid UTF-8.
func cut(s string, max int) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "�")
	if len(s) <= max {
		return s
	}
	end := max - len("…")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// TooLarge is the failure for an answer beyond all bounds.
func TooLarge() *Failure {
	return &Failure{Kind: llm.KindServer, Message: "the answer is too large"}
}

// NotJSON is the failure for an answer that cannot be read.
func NotJSON() *Failure {
	return &Failure{Kind: llm.KindServer, Message: "the endpoint sent an answer that is not JSON"}
}
