package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/live"
	"picobot/internal/live/relay"
	"picobot/internal/protocol"
	"picobot/store"
)

// From the commit of a row to its frame at a client: written by this process, by another
// one that cannot reach the gateway (its rows are found by looking), and by another one
// that hands its news over.
func BenchmarkRowToSocket(b *testing.B) {
	for name, from := range map[string]func(*rig) *store.Store{
		"SameProcess": func(r *rig) *store.Store { return r.record },
		"OtherProcess_Polled": func(r *rig) *store.Store {
			return r.elsewhere().record
		},
		"OtherProcess": func(r *rig) *store.Store {
			e := r.elsewhere()
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan error, 1)
			hc := &http.Client{Transport: &http.Transport{}}
			go func() {
				done <- relay.New(relay.Options{Hub: e.hub, Post: r.poster(hc), Logger: slog.New(slog.DiscardHandler)}).Run(ctx)
			}()
			r.t.Cleanup(func() { stop(); <-done; hc.CloseIdleConnections() })
			return e.record
		},
	} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, func(o *Options, _ *Deps) { o.WatchRecord = name != "SameProcess" })
			record := from(r)
			p, w := r.connect(protocol.Hello{})
			var took []time.Duration
			for i := range b.N {
				time.Sleep(rand.N(60 * time.Millisecond)) // at any point of a period
				a, err := record.Accept(b.Context(), store.Inbound{Channel: "cli", ChatID: "me", SessionID: w.SessionID, ExternalID: fmt.Sprint(i), SenderID: "me", Content: "hi"})
				require.NoError(b, err)
				wrote := time.Now()
				p.until(func(f protocol.ServerFrame) bool { t, ok := f.(protocol.Turn); return ok && t.TurnID == a.Turn.ID })
				took = append(took, time.Since(wrote))
				_, err = record.Cancel(b.Context(), w.SessionID, a.Turn.ID)
				require.NoError(b, err)
				p.until(ends(a.Turn.ID))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// poster hands news over as a worker does.
func (r *rig) poster(hc *http.Client) func(context.Context, []live.News) error {
	return func(ctx context.Context, news []live.News) error {
		body, err := json.Marshal(relayed{news})
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url("/api/v1/live"), bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+testToken)
		resp, err := hc.Do(req)
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusNoContent {
			err = errors.New(resp.Status)
		}
		return errors.Join(err, resp.Body.Close())
	}
}
