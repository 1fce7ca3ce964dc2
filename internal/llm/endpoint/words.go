package endpoint

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"picobot/internal/llm"
)

// said is an error as an endpoint words it.
type said struct {
	message string
	code    string
	kind    string // its "type"
	status  int    // a code that is an HTTP status
}

// FailureOf classifies an error reply by its status, refined by its body.
func FailureOf(status int, contentType string, body []byte) *Failure {
	f := &Failure{Kind: llm.KindOfStatus(status), Status: status, Message: http.StatusText(status)}
	if status >= 300 && status < 400 {
		f.Message = "the endpoint redirects: set base_url to its real address"
		return f
	}
	if isHTML(contentType, body) {
		f.Message = "the endpoint sent a web page instead of an answer"
		return f
	}
	s, ok := readError(body, true)
	if !ok {
		if text := strings.TrimSpace(string(body)); text != "" {
			f.Message = text
		}
		return f
	}
	if s.message != "" {
		f.Message = s.message
	}
	if kind := refine(s, f.Kind); kind != "" {
		f.Kind = kind
	}
	f.MissingModel = f.Kind == llm.KindNotFound && (kindOfWord(s.code) == llm.KindNotFound || strings.Contains(strings.ToLower(s.message), "model"))
	return f
}

// InlineFailure finds an error in a body or event that came with status 200. With
// certain set, the whole of it is an error even without an "error" field.
func InlineFailure(raw []byte, certain bool) *Failure {
	s, ok := readError(raw, certain)
	if !ok {
		return nil
	}
	f := &Failure{Kind: llm.KindServer, Status: s.status, Message: s.message}
	if s.status != 0 {
		f.Kind = llm.KindOfStatus(s.status)
	} else if kind := kindOfWord(s.kind); kind != "" {
		f.Kind = kind
	} else if kind := kindOfWord(s.code); kind != "" {
		f.Kind = kind
	}
	if kind := refine(s, f.Kind); kind != "" {
		f.Kind = kind
	}
	if f.Message == "" {
		f.Message = "the endpoint reported an error without a message"
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

// IsCodeAndMessage reports that a reply is an error in the form that some endpoints
// send with status 200: {"code": …, "message": …}.
func IsCodeAndMessage(raw []byte) bool {
	s, ok := readErrorObject(raw)
	return ok && s.message != "" && s.code != ""
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
		Msg     Text            `json:"msg"`
		Detail  json.RawMessage `json:"detail"`
		Code    json.RawMessage `json:"code"`
		Type    Text            `json:"type"`
		Inner   struct {
			Code Text `json:"code"`
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
	// Most servers other than OpenAI's have no code for it, and Anthropic has none
	// for an account that is used up.
	switch {
	case kind == llm.KindBadRequest && tooLong(s.message):
		return llm.KindContextTooLarge
	case kind == llm.KindBadRequest && strings.Contains(strings.ToLower(s.message), "credit balance is too low"):
		return llm.KindQuota
	}
	return ""
}

// kindOfWord maps the codes and types that endpoints use.
func kindOfWord(word string) llm.Kind {
	switch strings.ToLower(word) {
	case "insufficient_quota", "insufficient_balance", "billing_hard_limit_reached", "billing_not_active",
		"exceeded_current_quota_error", "arrearage", "quota_exceeded", "billing_error":
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
	for _, words := range []string{"maximum context length", "context length", "context window", "context size", "prompt is too long", "exceed context limit"} {
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
