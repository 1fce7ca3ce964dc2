package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/gateway"
	"picobot/internal/chat"
	"picobot/internal/live"
	"picobot/internal/testkit/fakefeishu"
	"picobot/internal/testkit/harness"
	"picobot/internal/testkit/record"
	"picobot/store"
)

// patience is how long a test waits for what must come; only failures take as long.
const patience = 60 * time.Second

// rig is the channel with a real record and the real SDK, talking to a fake Feishu.
// The test plays the worker.
type rig struct {
	*testing.T
	feishu  *fakefeishu.Server
	record  *store.Store
	hub     *live.Hub
	app     *App
	channel *Channel
	ingest  Ingest
	clock   *clock
	logs    *harness.Output
	files   map[string]string
	stop    func()
}

// clock is the real one, moved.
type clock struct {
	mu    sync.Mutex
	moved time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.moved)
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved += d
}

type nobody struct{}

func (nobody) Nudge(string)              {}
func (nobody) CancelTurn(string, string) {}
func (nobody) Compact(string)            {}

// newRig makes a rig; change, if not nil, changes what it is made from.
func newRig(t *testing.T, config fakefeishu.Config, change func(*Options)) *rig {
	t.Helper()
	r := &rig{T: t, clock: &clock{}, hub: live.NewHub(), logs: &harness.Output{}, files: map[string]string{}}
	config.Now = r.clock.now
	if config.ChatRate == 0 {
		config.ChatRate = -1
	}
	r.feishu = fakefeishu.Start(t, config)
	logger := slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	r.record, err = store.Open(t.Context(), store.Options{Path: record.At(t, filepath.Join(t.TempDir(), "sessions.db")), Now: r.clock.now, OnChange: r.hub.Wake})
	require.NoError(t, err)
	media := t.TempDir()
	server, err := gateway.New(gateway.Options{Addr: "127.0.0.1:0", Token: "x", TokenGenerated: true}, gateway.Deps{Record: r.record, Hub: r.hub, Dispatcher: nobody{}, Logger: logger})
	require.NoError(t, err)
	r.ingest = server.Ingest
	var mu sync.Mutex
	o := Options{
		AppID: fakefeishu.AppID, AppSecret: fakefeishu.AppSecret, Domain: r.feishu.URL(), AllowFrom: []string{"*"}, RequireMention: true, Agent: "default",
		Record: r.record, Hub: r.hub, Now: r.clock.now, Logger: logger,
		KeepImage: gateway.KeepImage(media, 1<<20, r.clock.now),
		KeepFile: func(message, name string, from io.Reader) (string, error) {
			b, err := io.ReadAll(from)
			mu.Lock()
			defer mu.Unlock()
			r.files["received/"+name] = string(b)
			return "received/" + name, err
		},
		Timing: Timing{Spacing: time.Millisecond, Reconnect: 100 * time.Millisecond, Patch: time.Millisecond, Card: time.Millisecond},
	}
	if change != nil {
		change(&o)
	}
	r.app = New(o)
	t.Cleanup(func() {
		if r.stop != nil {
			r.stop()
		}
		require.NoError(t, server.Close())
		require.NoError(t, r.record.Close())
		r.app.api.http.CloseIdleConnections()
		idle()
		for _, secret := range []string{fakefeishu.AppSecret, "secret-ticket", "secret-access-key", "t-fake"} {
			require.NotContains(t, r.logs.String(), secret)
		}
		if t.Failed() {
			t.Log(r.logs.String())
		}
	})
	return r
}

// start runs the channel and waits until it is connected.
func (r *rig) start() {
	r.Helper()
	r.run()
	r.eventually("the channel is connected", func() bool { return r.channel.Status() == OK })
}

func (r *rig) run() {
	r.channel = r.app.Channel(func(ctx context.Context, m store.Inbound) (store.Accepted, error) { return r.ingest(ctx, m) })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.channel.Run(ctx) }()
	r.stop = func() {
		cancel()
		require.NoError(r, <-done)
		r.stop = nil
	}
}

// eventually waits for something that stays so.
func (r *rig) eventually(what string, ok func() bool) {
	r.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			r.Fatalf("it never happened that %s", what)
		}
	}
}

// acknowledged waits until Feishu has been told that everything arrived.
func (r *rig) acknowledged() {
	r.Helper()
	r.eventually("everything is acknowledged", func() bool { return r.feishu.Told().Waiting == 0 })
}

// turns lists the turns of a chat, in the order in which they were accepted.
func (r *rig) turns(chatID string) []store.Turn {
	r.Helper()
	all, err := r.record.Sessions(r.Context(), store.SessionFilter{Channel: chat.ChannelFeishu, ChatID: chatID})
	require.NoError(r, err)
	var out []store.Turn
	for _, s := range all {
		turns, err := r.record.Turns(r.Context(), store.TurnFilter{SessionID: s.ID})
		require.NoError(r, err)
		for i := len(turns) - 1; i >= 0; i-- {
			out = append(out, turns[i])
		}
	}
	return out
}

// only returns the one turn of a chat.
func (r *rig) only(chatID string) store.Turn {
	r.Helper()
	r.eventually("the message is accepted", func() bool { return len(r.turns(chatID)) > 0 })
	r.acknowledged()
	turns := r.turns(chatID)
	require.Len(r, turns, 1)
	return turns[0]
}

// begin begins the next turn of a session, fetching first what there is to fetch.
func (r *rig) begin(sessionID string) *store.Position {
	r.Helper()
	for {
		p, err := r.record.BeginTurn(r.Context(), store.Begin{SessionID: sessionID})
		require.NoError(r, err)
		if p == nil || !p.Prepare {
			return p
		}
		m, err := r.record.Unprepared(r.Context(), p.Turn.ID)
		require.NoError(r, err)
		content, media, err := r.app.Prepare(r.Context(), m, true)
		require.NoError(r, err)
		require.NoError(r, r.record.Prepared(r.Context(), p.Turn.ID, content, media))
	}
}

// told is what the model is told of the turn's message.
func (r *rig) told(turn store.Turn) store.Row {
	r.Helper()
	r.begin(turn.SessionID)
	rows, err := r.record.Messages(r.Context(), turn.SessionID, 0, 0)
	require.NoError(r, err)
	return rows[len(rows)-1]
}

// answer ends a running turn with an answer and returns its outbox row.
func (r *rig) answer(turn store.Turn, text string) store.Outbound {
	r.Helper()
	r.begin(turn.SessionID)
	turn, err := r.record.Turn(r.Context(), turn.ID)
	require.NoError(r, err)
	_, err = r.record.CommitAnswer(r.Context(), turn.ID, turn.Steps+1, store.Answer{Message: chat.Message{Role: chat.RoleAssistant, Content: text}, Deliver: true})
	require.NoError(r, err)
	o, err := r.record.TurnReply(r.Context(), turn.ID)
	require.NoError(r, err)
	return o
}

// send sends a row until that is settled, as the Deliver activity does.
func (r *rig) send(o store.Outbound) (id string, err error) {
	r.Helper()
	for range 50 {
		id, err = r.app.Send(r.Context(), o)
		if err == nil || errors.Is(err, errRefusedForGood) {
			return id, err
		}
		time.Sleep(2 * time.Millisecond)
	}
	return id, err
}

// shown are the texts that people see in a chat, of the bot.
func (r *rig) shown(chatID string) (out []string) {
	for _, m := range r.feishu.Shown(chatID) {
		out = append(out, m.Type+": "+words(m))
	}
	return out
}

// words is the text of a message of any form.
func words(m fakefeishu.Message) string {
	type text struct{ Text, Content string }
	var c struct {
		Text string
		Body struct {
			Elements []struct {
				Content string
				Text    text
			}
		}
		Chinese struct{ Content [][]text } `json:"zh_cn"`
	}
	if json.Unmarshal([]byte(m.Content), &c) != nil {
		return m.Content
	}
	out := c.Text
	for _, e := range c.Body.Elements {
		out += e.Content + e.Text.Content
	}
	for _, line := range c.Chinese.Content {
		for _, e := range line {
			out += e.Text
		}
	}
	return out
}

// idle closes connections that clients keep for later.
func idle() {
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}
