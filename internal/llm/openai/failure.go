package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"picobot/internal/llm"
)

// maxMessageBytes is how much of what an endpoint said is kept.
const maxMessageBytes = 512

// failure is a failed call as the wire layer sees it; Provider.failure makes an
// *llm.Error of it.
type failure struct {
	kind       llm.Kind
	status     int
	retryAfter time.Duration
	message    string
	structured bool // the endpoint sent an error in JSON
}

func (f *failure) Error() string { return f.message }

// failure gives an error its final form: caller's context first, then our own
// limits, then what the endpoint or the network said.
func (p *Provider) failure(ctx context.Context, a *attempt, model string, err error) error {
	if ended := llm.ContextError(ctx, p.config.Name, model); ended != nil {
		return ended
	}
	out := &llm.Error{Provider: p.config.Name, Model: model}
	f, ok := errors.AsType[*failure](err)
	switch {
	case ok:
		out.Kind, out.Status, out.RetryAfter, out.Message = f.kind, f.status, f.retryAfter, f.message
	case errors.Is(context.Cause(a.ctx), errIdle):
		out.Kind, out.Err = llm.KindTimeout, context.DeadlineExceeded
		out.Message = fmt.Sprintf("the stream fell silent for %s", a.idle)
	case a.ctx.Err() != nil:
		out.Kind, out.Err = llm.KindTimeout, context.DeadlineExceeded
		out.Message = "no whole answer within the time limit"
	default:
		out.Kind, out.Err, out.Message = llm.KindTransport, err, err.Error()
	}
	message := p.scrub(out.Message)
	if message != out.Message {
		out.Err = nil // it would say again what was taken out
	}
	out.Message = cut(message)
	return out
}

// isTransport reports an error of the network, as opposed to one that was said.
func isTransport(err error) bool {
	_, said := errors.AsType[*failure](err)
	return !said
}

// scrub takes the endpoint's secrets out of a text.
func (p *Provider) scrub(s string) string {
	secrets := []string{p.config.APIKey}
	for _, value := range p.config.Headers {
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

// cut keeps the first maxMessageBytes of a text, whole runes of valid UTF-8.
func cut(s string) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "�")
	if len(s) <= maxMessageBytes {
		return s
	}
	end := maxMessageBytes - len("…")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// said is an error as an endpoint words it.
type said struct {
	message string
	code    string
	kind    string // its "type"
	status  int    // a code that is an HTTP status
}

// failureOf classifies an error reply by its status, refined by its body.
func failureOf(status int, contentType string, body []byte) *failure {
	f := &failure{kind: llm.KindOfStatus(status), status: status, message: http.StatusText(status)}
	if status >= 300 && status < 400 {
		f.message = "the endpoint redirects: set base_url to its real address"
		return f
	}
	if isHTML(contentType, body) {
		f.message = "the endpoint sent a web page instead of an answer"
		return f
	}
	s, ok := readError(body, true)
	if !ok {
		if text := strings.TrimSpace(string(body)); text != "" {
			f.message = text
		}
		return f
	}
	f.structured = true
	if s.message != "" {
		f.message = s.message
	}
	if kind := refine(s, f.kind); kind != "" {
		f.kind = kind
	}
	return f
}

// inlineFailure finds an error in a body or event that came with status 200. With
// certain set, the whole of it is an error even without an "error" field.
func inlineFailure(raw []byte, certain bool) *failure {
	s, ok := readError(raw, certain)
	if !ok {
		return nil
	}
	f := &failure{kind: llm.KindServer, status: s.status, message: s.message, structured: true}
	if s.status != 0 {
		f.kind = llm.KindOfStatus(s.status)
	} else if kind := kindOfWord(s.kind); kind != "" {
		f.kind = kind
	} else if kind := kindOfWord(s.code); kind != "" {
		f.kind = kind
	}
	if kind := refine(s, f.kind); kind != "" {
		f.kind = kind
	}
	if f.message == "" {
		f.message = "the endpoint reported an error without a message"
	}
	return f
}

// readError reads the forms in which endpoints word errors: {"error":{…}},
// {"error":"…"}, [{"error":{…}}], and with bare set also {"message":…,"code":…}
// and {"detail":…}.
func readError(raw []byte, bare bool) (said, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
			return said{}, false
		}
		raw = list[0]
	}
	var outer struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &outer) != nil {
		return said{}, false
	}
	if e := bytes.TrimSpace(outer.Error); len(e) > 0 && !isBlank(e) {
		var message string
		if json.Unmarshal(e, &message) == nil {
			return said{message: message}, true
		}
		if s, ok := readErrorObject(e); ok {
			return s, true
		}
		return said{message: string(e)}, true
	}
	if !bare {
		return said{}, false
	}
	return readErrorObject(raw)
}

func isBlank(raw []byte) bool {
	switch string(raw) {
	case "null", "{}", `""`, "false", "[]":
		return true
	}
	return false
}

func readErrorObject(raw []byte) (said, bool) {
	var fields struct {
		Message json.RawMessage `json:"message"`
		Msg     text            `json:"msg"`
		Detail  json.RawMessage `json:"detail"`
		Code    json.RawMessage `json:"code"`
		Type    text            `json:"type"`
		Inner   struct {
			Code text `json:"code"`
		} `json:"innererror"`
	}
	if json.Unmarshal(raw, &fields) != nil {
		return said{}, false
	}
	s := said{kind: string(fields.Type), code: strings.Trim(string(fields.Code), `"`)}
	for _, candidate := range []string{plain(fields.Message), string(fields.Msg), plain(fields.Detail)} {
		if s.message == "" {
			s.message = candidate
		}
	}
	if s.code == "null" || s.code == "" {
		s.code = string(fields.Inner.Code)
	}
	if n, err := strconv.Atoi(s.code); err == nil && n >= 400 && n < 600 {
		s.status = n
	}
	return s, s.message != "" || s.code != "" || s.kind != ""
}

// plain returns a string as it is and any other JSON as its text.
func plain(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || isBlank(raw) || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// refine returns the kind that an error's own words name, "" when they add
// nothing to the status.
func refine(s said, kind llm.Kind) llm.Kind {
	for _, word := range []string{s.code, s.kind} {
		switch k := kindOfWord(word); k {
		case llm.KindQuota, llm.KindContextTooLarge, llm.KindContentFiltered:
			return k
		}
	}
	// Most servers other than OpenAI's have no code for it.
	if kind == llm.KindBadRequest && tooLong(s.message) {
		return llm.KindContextTooLarge
	}
	return ""
}

// kindOfWord maps the codes and types that endpoints use.
func kindOfWord(word string) llm.Kind {
	switch strings.ToLower(word) {
	case "insufficient_quota", "insufficient_balance", "billing_hard_limit_reached", "billing_not_active",
		"exceeded_current_quota_error", "arrearage", "quota_exceeded":
		return llm.KindQuota
	case "context_length_exceeded", "context_window_exceeded", "model_context_window_exceeded",
		"exceed_context_size_error", "request_too_large", "string_above_max_length":
		return llm.KindContextTooLarge
	case "content_filter", "content_policy_violation", "responsibleaipolicyviolation", "data_inspection_failed", "datainspectionfailed":
		return llm.KindContentFiltered
	case "rate_limit_exceeded", "rate_limit_error", "rate_limit_reached_error", "too_many_requests":
		return llm.KindRateLimited
	case "overloaded_error", "overloaded", "engine_overloaded_error", "service_unavailable":
		return llm.KindOverloaded
	case "invalid_api_key", "authentication_error", "invalid_authentication_error", "permission_error", "unauthorized":
		return llm.KindAuth
	case "model_not_found", "not_found_error":
		return llm.KindNotFound
	case "timeout", "timeout_error":
		return llm.KindTimeout
	case "invalid_request_error", "bad_request":
		return llm.KindBadRequest
	}
	return ""
}

func tooLong(message string) bool {
	message = strings.ToLower(message)
	for _, words := range []string{"maximum context length", "context length", "context window", "context size", "prompt is too long"} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}

func isHTML(contentType string, body []byte) bool {
	if strings.HasPrefix(strings.ToLower(strings.TrimSpace(contentType)), "text/html") {
		return true
	}
	return bytes.HasPrefix(bytes.TrimSpace(body), []byte("<"))
}

// htmlFailure is a web page that came with status 200: an address that is no API.
func htmlFailure(status int) *failure {
	return &failure{kind: llm.KindBadRequest, status: status,
		message: "the endpoint sent a web page instead of an answer: check base_url (it ends in /v1, as a rule)"}
}
