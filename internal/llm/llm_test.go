package llm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/llm"
)

func TestAContextThatLastsIsNoError(t *testing.T) {
	require.Nil(t, llm.ContextError(t.Context(), "p", "m"))
}

func TestAnEndedContextSaysHowItEnded(t *testing.T) {
	cause := errors.New("stopped by the user")
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	plain, stop := context.WithCancel(t.Context())
	stop()
	late, free := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer free()

	for _, row := range []struct {
		ctx  context.Context
		kind llm.Kind
		is   []error
	}{
		{cancelled, llm.KindCanceled, []error{context.Canceled, cause}},
		{plain, llm.KindCanceled, []error{context.Canceled}},
		{late, llm.KindTimeout, []error{context.DeadlineExceeded}},
	} {
		err := llm.ContextError(row.ctx, "p", "m")
		require.Equal(t, row.kind, err.Kind)
		require.Equal(t, "p", err.Provider)
		require.Equal(t, "m", err.Model)
		for _, is := range row.is {
			require.ErrorIs(t, err, is)
		}
	}
}

func TestStatusesThatMayBeRetried(t *testing.T) {
	for status, want := range map[int]bool{
		400: false, 401: false, 402: false, 403: false, 404: false, 413: false, 422: false,
		408: true, 409: true, 429: true, 500: true, 502: true, 503: true, 504: true, 529: true, 599: true,
	} {
		e := &llm.Error{Kind: llm.KindOfStatus(status), Status: status}
		require.Equal(t, want, e.Retryable(), "status %d", status)
	}
}

func TestAnErrorNamesModelProviderStatusAndCause(t *testing.T) {
	inner := errors.New("connection reset")
	err := fmt.Errorf("call model: %w", &llm.Error{Kind: llm.KindServer, Status: 500, Provider: "p", Model: "m", Message: "boom", Err: inner})
	require.EqualError(t, err, "call model: model m at provider p: server_error (HTTP 500): boom")
	require.Equal(t, llm.KindServer, llm.KindOf(err))
	require.ErrorIs(t, err, inner)
	require.Empty(t, llm.KindOf(inner))
}
