package relay_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/live"
	"picobot/internal/live/relay"
	"picobot/internal/llm"
	"picobot/internal/testkit/harness"
)

func text(s string) live.Progress {
	return live.Progress{TurnID: "t", Step: 1, Attempt: 1, Kind: llm.DeltaText, Text: s}
}

// post is one handing over.
type post struct {
	at   time.Duration // since the relay began to run
	news []live.News
}

// rig runs a relay in a bubble, where time passes only while everybody waits.
type rig struct {
	*testing.T
	hub   *live.Hub
	began time.Time
	relay *relay.Relay
	log   harness.Output

	mu    sync.Mutex
	fails error
	hangs bool
	posts []post
}

func (r *rig) post(ctx context.Context, news []live.News) error {
	r.mu.Lock()
	r.posts = append(r.posts, post{time.Since(r.began), news})
	fails, hangs := r.fails, r.hangs
	r.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return fails
}

func (r *rig) becomes(fails error, hangs bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails, r.hangs = fails, hangs
}

func inBubble(t *testing.T, fn func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, hub: live.NewHub(), began: time.Now()}
		r.relay = relay.New(relay.Options{Hub: r.hub, Post: r.post, Logger: slog.New(slog.NewTextHandler(&r.log, nil))})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.relay.Run(ctx) }()
		synctest.Wait()
		fn(r)
		stop()
		require.NoError(t, <-done)
	})
}

func (r *rig) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// taken returns what was handed over since last time, without the times that only keep in touch.
func (r *rig) taken() (out []post) {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.posts {
		if len(p.news) > 0 {
			out = append(out, p)
		}
	}
	r.posts = nil
	return out
}

func said(posts []post) (all string) {
	for _, p := range posts {
		for _, n := range p.news {
			for _, piece := range n.Progress {
				all += piece.Text
			}
		}
	}
	return all
}

func TestRelay_FirstPieceGoesAtOnce_WhatFollowsIsJoined(t *testing.T) {
	inBubble(t, func(r *rig) {
		require.True(t, r.relay.Connected(), "it looks whether somebody is there")
		r.after(time.Second)
		r.hub.Publish("s", text("0 "))
		got := r.taken()
		require.Len(t, got, 1)
		require.Equal(t, time.Second, got[0].at)
		for range 99 {
			r.after(time.Millisecond)
			r.hub.Publish("s", text("1 "))
		}
		r.after(time.Second)
		rest := r.taken()
		require.LessOrEqual(t, len(rest), 11)
		require.Equal(t, strings.Repeat("1 ", 99), said(rest))
	})
}

func TestRelay_WhatIsNoText_WaitsForNothing(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.after(time.Second)
		r.hub.Publish("s", text("a"))
		r.taken()
		r.hub.Publish("s", text("b"))
		r.after(time.Millisecond)
		require.Empty(t, r.taken(), "text waits")
		r.hub.Wake("s")
		got := r.taken()
		require.Len(t, got, 1)
		require.Equal(t, time.Second+time.Millisecond, got[0].at)
		require.Equal(t, []live.News{{SessionID: "s", Changed: true, Progress: []live.Progress{text("b")}}}, got[0].news)
	})
}

func TestRelay_NobodyThere_DropsAndSaysSoOnceAndGoesOnWhenSomebodyIs(t *testing.T) {
	inBubble(t, func(r *rig) {
		require.True(t, r.relay.Connected())
		r.becomes(errors.New("connection refused"), false)
		r.hub.Publish("s", text("lost "))
		r.after(time.Millisecond)
		require.False(t, r.relay.Connected())
		r.hub.Publish("s", text("too late "))
		r.after(10 * time.Second)
		require.Equal(t, 1, strings.Count(r.log.String(), "connection refused"), r.log.String())
		r.taken()
		r.becomes(nil, false)
		r.after(time.Second)
		require.True(t, r.relay.Connected(), "it looks without having news")
		require.Contains(t, r.log.String(), "reached again")
		r.hub.Publish("s", text("now"))
		r.after(time.Second)
		require.Equal(t, "now", said(r.taken()), "nothing that may have got there, or is old, goes again")
	})
}

func TestRelay_SomebodyWhoHangs_HoldsUpNobodyHere(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.becomes(nil, true)
		r.hub.Publish("s", text("a"))
		r.after(time.Millisecond)
		before := time.Now()
		for range 10_000 {
			r.hub.Publish("s", text(strings.Repeat("x", 1000)))
		}
		require.Equal(t, before, time.Now())
		r.after(5 * time.Second)
		require.False(t, r.relay.Connected())
		r.becomes(nil, false)
		r.after(time.Second)
		require.True(t, r.relay.Connected())
	})
}

func TestRelay_Idle_KeepsInTouch(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.after(10 * time.Minute)
		r.mu.Lock()
		defer r.mu.Unlock()
		require.Len(t, r.posts, 121)
	})
}
