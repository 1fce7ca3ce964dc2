package anthropic

import (
	"context"
	"io"
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

// silent is a body that says something at once and then nothing.
type silent struct {
	ctx context.Context
	io.Reader
}

func (s silent) Read(p []byte) (int, error) {
	if n, err := s.Reader.Read(p); n > 0 || err == nil {
		return n, err
	}
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (silent) Close() error { return nil }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// wait runs one call whose stream says body and then stays silent, and returns how
// long it took.
func wait(ctx context.Context, body string) (llm.Response, time.Duration, error) {
	p := New(Config{Name: "p", BaseURL: "http://test.invalid", Timeout: 10 * time.Minute, IdleTimeout: time.Minute,
		HTTPClient: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: silent{r.Context(), strings.NewReader(body)}, Request: r}, nil
		})}})
	start := time.Now()
	resp, err := p.Complete(ctx, llm.Request{Model: llm.Model{Name: "m", ID: "x", Stream: true},
		Messages: []llm.Message{{Message: chat.Message{Role: chat.RoleUser, Content: "hi"}}}}, nil)
	return resp, time.Since(start), err
}

const (
	begun = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n"
	ended = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

func TestAStream_ThatFallsSilent_TimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, took, err := wait(t.Context(), begun)
		require.Equal(t, llm.KindTimeout, llm.KindOf(err))
		require.ErrorContains(t, err, "silent for 1m0s")
		require.Equal(t, time.Minute, took)
	})
}

func TestAStream_ThatNeverBegins_TimesOutLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, took, err := wait(t.Context(), "")
		require.Equal(t, llm.KindTimeout, llm.KindOf(err))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 10*time.Minute, took, "a model may think for long")
	})
}

func TestAStream_ThatIsFinishedButStaysOpen_DoesNotHoldTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, took, err := wait(t.Context(), begun+ended)
		require.NoError(t, err)
		require.Equal(t, endpoint.DrainTime, took)
	})
}
