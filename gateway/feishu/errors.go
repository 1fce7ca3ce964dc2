package feishu

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// class says what an error means for who called.
type class int

const (
	unknown   class = iota // it may have been done: try again, with the same uuid
	later                  // it was surely not done: try again, not at once
	stale                  // the token is not taken any more
	setup                  // somebody must change the app or the configuration
	gone                   // the chat, or what it is about, is not there
	recalled               // the message that was answered is not there: the chat may be
	noThread               // there are no threads in this chat
	forbidden              // this will never be let through
	content                // it will not be taken in this form
)

// classes says what Feishu's codes mean
// (https://open.feishu.cn/document/server-docs/im-v1/message/create, "错误码"). A code
// that is not here is content: another form is tried, and then it is given up.
var classes = map[int]class{
	99991400: later, 11232: later, 230020: later, 230049: later, 200810: later,
	300120:   unknown,
	99991661: stale, 99991663: stale, 99991664: stale, 99991668: stale, 99991671: stale, 99991677: stale,
	99991672: setup, 99991662: setup, 99991403: setup, 10003: setup, 10014: setup, 230006: setup, 230027: setup, 11205: setup, 99991401: setup,
	230002: gone, 232009: gone, 230013: gone, 230029: gone, 230053: gone, 230050: gone,
	230011: recalled, 231003: recalled, 230019: recalled,
	230071: noThread, 230072: noThread,
	230018: forbidden, 230022: forbidden, 230028: forbidden, 230035: forbidden, 230038: forbidden, 230075: forbidden, 230015: forbidden,
}

// Error is what Feishu answered instead of what it was asked for.
type Error struct {
	Status     int    // of HTTP
	Code       int    // Feishu's; 0 = the answer was none of Feishu's, and nobody knows what was done
	Msg        string // Feishu's words, bounded
	LogID      string // by which Feishu's support finds the request
	RetryAfter time.Duration
}

// Error implements error.
func (e *Error) Error() string {
	if e.Code == 0 {
		return fmt.Sprintf("something on the way answered instead of feishu (HTTP status %d): if there is a proxy, let it through to feishu", e.Status)
	}
	s := fmt.Sprintf("feishu refused it (code %d): %s", e.Code, e.Msg)
	if e.LogID != "" {
		s += " [log id " + e.LogID + "]"
	}
	return s
}

// notAskedError says that Feishu was not reached at all.
type notAskedError struct{ err error }

func (e *notAskedError) Error() string { return "feishu cannot be reached: " + e.err.Error() }
func (e *notAskedError) Unwrap() error { return e.err }

// notAsked makes err say so, once: a request may not have got further than its token.
func notAsked(err error) error {
	if _, said := errors.AsType[*notAskedError](err); said {
		return err
	}
	return &notAskedError{err}
}

// pausedError says that a chat is left alone for now: Feishu asked for that.
type pausedError struct{ after time.Duration }

func (e *pausedError) Error() string {
	return fmt.Sprintf("feishu takes no more messages for this chat for now: the next try is in %s", e.after.Round(time.Second))
}

func classOf(err error) class {
	_, notAsked := errors.AsType[*notAskedError](err) // whatever kept it from being asked
	_, paused := errors.AsType[*pausedError](err)
	if notAsked || paused {
		return later
	}
	if e, ok := errors.AsType[*Error](err); ok {
		switch c, known := classes[e.Code]; {
		case known:
			return c
		case e.Status == http.StatusTooManyRequests:
			return later
		case e.Status >= 500 || e.Code == 0: // something on the way may answer 403 or 404 for a while
			return unknown
		}
		return content
	}
	return unknown
}

// refused reports whether Feishu has said no, so that it surely was not done.
func refused(err error) bool { return err != nil && classOf(err) != unknown }

// retryAfter says how long to wait before the next try.
func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok && e.RetryAfter > 0 {
		return min(e.RetryAfter, maxRetryAfter)
	}
	if e, ok := errors.AsType[*pausedError](err); ok {
		return min(e.after, maxRetryAfter)
	}
	return time.Second
}

const maxRetryAfter = time.Minute

// stopped reports an error that says nothing about Feishu.
func stopped(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() != nil
}
