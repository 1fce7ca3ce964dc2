package activities_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"picobot/activities"
	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/llm"
	"picobot/store"
)

// secret is long, and no part of it looks like anything else in a test.
const secret = "ZQXJ-ZQXJ-ZQXJ-ZQXJ-ZQXJ-ZQXJ-ZQXJ-ZQXJ"

func (f *fixture) mask(secret string) {
	f.acts.Mask = func(s string) string { return strings.ReplaceAll(s, secret, "***") }
}

func TestSummaries_SecretsAreMaskedAlsoWhereTheLineIsCut(t *testing.T) {
	f := newFixture(t)
	f.mask(secret)
	var cs []chat.ToolCall
	for pad := range 130 { // one of them straddles the cut, wherever that is
		cs = append(cs, act(fmt.Sprint("c", pad), strings.Repeat("a", pad)+secret))
	}
	f.model.reply = calls(cs...)
	b := f.begin("cli", "hello")
	r, err := f.ask(b.TurnID, 1)
	require.NoError(t, err)
	require.Contains(t, r.Calls[0].Summary, "***")
	for _, calls := range [][]flow.Call{r.Calls, f.beginAgain(f.turn(b.TurnID).SessionID).Calls} {
		require.Len(t, calls, len(cs))
		for _, c := range calls {
			require.NotContains(t, c.Summary, secret[:2])
			require.LessOrEqual(t, len([]rune(c.Summary)), 120)
		}
	}
}

func TestSummaries_SwitchedOff_NothingIsSaidOfCalls(t *testing.T) {
	f := newFixture(t)
	f.acts.Summaries = false
	f.model.reply = calls(act("a", "private"))
	b := f.begin("cli", "hello")
	r, err := f.ask(b.TurnID, 1)
	require.NoError(t, err)
	want := []flow.Call{{Position: 0, Name: "act", Acts: true}}
	require.Equal(t, want, r.Calls)
	require.Equal(t, want, f.beginAgain(f.turn(b.TurnID).SessionID).Calls)
}

// requireMasked: neither the secret nor a piece of it is in what Temporal is told.
func requireMasked(t *testing.T, err error) {
	t.Helper()
	require.ErrorContains(t, err, "***")
	require.NotContains(t, err.Error(), secret[:2])
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	if app.HasDetails() {
		var failure flow.Failure
		require.NoError(t, app.Details(&failure))
		require.NotContains(t, failure.Detail, secret[:2])
	}
}

func TestErrors_OfAModel_AreMasked(t *testing.T) {
	for name, fails := range map[string]func() error{
		"of the provider": func() error { return &llm.Error{Kind: llm.KindAuth, Message: "key " + secret + " refused"} },
		"where they are cut": func() error {
			return &llm.Error{Kind: llm.KindTransport, Message: strings.Repeat("a", 290) + secret}
		},
		"of another kind": func() error { return errors.New("dial with " + secret) },
		"of a panic":      func() error { panic("no such key: " + secret) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.mask(secret)
			f.model.reply = func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error) {
				return llm.Response{}, fails()
			}
			b := f.begin("cli", "hello")
			_, err := f.ask(b.TurnID, 1)
			requireMasked(t, err)
		})
	}
}

func TestErrors_OfTheRecord_AreMasked(t *testing.T) {
	f := newFixture(t)
	b := f.begin("cli", "hello")
	gone, err := store.Open(t.Context(), store.Options{Path: f.recordPath(), Now: time.Now})
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	f.acts.Record = gone
	_, err = f.ask(b.TurnID, 1)
	requireType(t, err, flow.ErrTypeRecord)
	require.ErrorContains(t, err, "it is closed")
	f.mask("it is closed")
	_, err = f.ask(b.TurnID, 1)
	require.ErrorContains(t, err, "***")
	require.NotContains(t, err.Error(), "it is closed")
}

func TestErrors_OfADelivery_AreMaskedForTemporalAndInTheRecord(t *testing.T) {
	for name, cause := range map[string]error{"passing": errors.New("token " + secret), "refused for good": fmt.Errorf("%w: token %s", activities.ErrRefused, secret)} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.mask(secret)
			b := f.begin("feishu", "hello")
			r, err := f.ask(b.TurnID, 1)
			require.NoError(t, err)
			f.sender.err = cause
			_, err = f.env.ExecuteActivity(flow.Deliver, r.Outbound[0])
			requireMasked(t, err)
			o, err := f.record.Outbound(t.Context(), r.Outbound[0])
			require.NoError(t, err)
			require.Contains(t, o.Error, "***")
			require.NotContains(t, o.Error, secret[:2])
		})
	}
}

func TestErrors_OfThePrompt_AreMasked(t *testing.T) {
	f := newFixture(t)
	f.mask(filepath.Base(f.dir))
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "AGENT.md"), make([]byte, 300<<10), 0o600))
	b := f.begin("cli", "hello")
	require.Equal(t, flow.CodePrompt, b.Failure.Code)
	require.Contains(t, b.Failure.Detail, "***")
}
