package openai

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/llm/endpoint"
)

// script is a body that sends pieces with pauses before them, in the time of a
// synctest bubble, and then stays silent.
type script struct {
	ctx    context.Context
	pieces []piece
	rest   *strings.Reader
}

type piece struct {
	after time.Duration
	text  string
}

func (s *script) Read(p []byte) (int, error) {
	if s.rest != nil && s.rest.Len() > 0 {
		return s.rest.Read(p)
	}
	if len(s.pieces) == 0 {
		<-s.ctx.Done()
		return 0, s.ctx.Err()
	}
	next := s.pieces[0]
	select {
	case <-time.After(next.after):
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
	s.pieces = s.pieces[1:]
	s.rest = strings.NewReader(next.text)
	return s.rest.Read(p)
}

func (s *script) Close() error { return nil }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// play runs one streamed call against a script and returns how long it took.
func play(ctx context.Context, pieces ...piece) (llm.Response, time.Duration, error) {
	p := New(Config{Name: "p", BaseURL: "http://test.invalid/v1", Timeout: 10 * time.Minute, IdleTimeout: time.Minute,
		HTTPClient: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: &script{ctx: r.Context(), pieces: pieces}}, nil
		})}})
	start := time.Now()
	resp, err := p.Complete(ctx, llm.Request{
		Model:    llm.Model{Name: "m", ID: "x", Stream: true},
		Messages: []llm.Message{{Message: chat.Message{Role: chat.RoleUser, Content: "hi"}}},
	}, nil)
	return resp, time.Since(start), err
}

const (
	word = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
	last = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
	done = "data: [DONE]\n\n"
)

func TestAStreamThatFallsSilentTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, took, err := play(t.Context(), piece{time.Second, word})
		require.Equal(t, llm.KindTimeout, llm.KindOf(err))
		require.ErrorContains(t, err, "silent for 1m0s")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Minute+time.Second, took)
	})
}

func TestAModelMayThinkLongBeforeItSpeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resp, took, err := play(t.Context(), piece{5 * time.Minute, word + last + done})
		require.NoError(t, err)
		require.Equal(t, "a", resp.Content)
		require.Equal(t, 5*time.Minute+endpoint.DrainTime, took)
	})
}

func TestKeepalivesAndChunksKeepAStreamAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, err := play(t.Context(), piece{0, word}, piece{50 * time.Second, word}, piece{50 * time.Second, ": ping\n\n"},
			piece{50 * time.Second, word}, piece{50 * time.Second, "\n"}, piece{50 * time.Second, last + done})
		require.NoError(t, err)
	})
}

func TestAnAttemptEndsAfterItsTimeoutHoweverLivelyItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pieces []piece
		for range 100 {
			pieces = append(pieces, piece{10 * time.Second, word})
		}
		_, took, err := play(t.Context(), pieces...)
		require.Equal(t, llm.KindTimeout, llm.KindOf(err))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 10*time.Minute, took)
	})
}

func TestACallersOwnDeadlineAndCauseAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the shift is over")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		_, _, err := play(ctx, piece{0, word})
		require.Equal(t, llm.KindTimeout, llm.KindOf(err))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, cause)
	})
}
