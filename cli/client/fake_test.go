package client

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"picobot/internal/chat"
	"picobot/internal/protocol"
)

// fakeGateway is a gateway that keeps its record in memory. Every message gets the
// rows "TEXT" and "re: TEXT"; what goes wrong is up to the test.
type fakeGateway struct {
	t   *testing.T
	srv *httptest.Server

	mu       sync.Mutex
	accepted map[string]string // message id -> turn id
	runs     map[string]int    // message id -> how often it was run
	rows     []protocol.Message
	hellos   []protocol.Hello
	cancels  []string
	conns    int
	// onMessage is called before a message is dealt with; true hangs up instead.
	onMessage func(conn int, m protocol.UserMessage) (hangUp bool)
	// afterAccept is called when a message is accepted and before its turn runs.
	afterAccept func(conn int, m protocol.UserMessage) (hangUp bool)
	// answer replaces what is sent after accepted.
	answer func(send func(protocol.ServerFrame), turn string, m protocol.UserMessage)
	token  string
	hide   chat.Role // rows of this role are not sent again
}

const fakeSession = "cli:chat:1"

func newFake(t *testing.T) *fakeGateway {
	f := &fakeGateway{t: t, accepted: map[string]string{}, runs: map[string]int{}, token: "good"}
	f.srv = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.srv.Close)
	return f
}

func (f *fakeGateway) serve(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+f.token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	f.mu.Lock()
	f.conns++
	n := f.conns
	f.mu.Unlock()
	ctx := r.Context()
	send := func(frame protocol.ServerFrame) {
		_ = conn.Write(ctx, websocket.MessageText, protocol.Encode(frame))
	}
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return
		}
		frame, problem := protocol.Decode(data)
		if problem != nil {
			f.t.Errorf("the client sent a bad frame: %+v", problem)
			return
		}
		switch frame := frame.(type) {
		case protocol.Hello:
			f.hello(send, frame)
		case protocol.UserMessage:
			if f.onMessage != nil && f.onMessage(n, frame) {
				return
			}
			if f.message(send, n, frame) {
				return
			}
		case protocol.Cancel:
			f.mu.Lock()
			f.cancels = append(f.cancels, frame.TurnID)
			f.mu.Unlock()
			send(protocol.Turn{TurnID: frame.TurnID, SessionID: fakeSession, Status: protocol.TurnCancelled})
		case protocol.Attach:
			send(protocol.Welcome{Protocol: 1, SessionID: frame.SessionID, LastSeq: int64(len(f.rows))})
			f.replay(send, frame.FromSeq)
		}
	}
}

func (f *fakeGateway) hello(send func(protocol.ServerFrame), h protocol.Hello) {
	f.mu.Lock()
	f.hellos = append(f.hellos, h)
	last := int64(len(f.rows))
	f.mu.Unlock()
	if h.SessionID != "" && h.SessionID != fakeSession {
		send(protocol.Error{Code: protocol.CodeNotFound, Message: "no such session"})
		return
	}
	send(protocol.Welcome{Protocol: 1, Server: "fake", SessionID: fakeSession, LastSeq: last})
	f.replay(send, h.FromSeq)
}

func (f *fakeGateway) replay(send func(protocol.ServerFrame), from *int64) {
	if from == nil {
		return
	}
	f.mu.Lock()
	rows := append([]protocol.Message(nil), f.rows[*from:]...)
	f.mu.Unlock()
	for _, r := range rows {
		if r.Role != f.hide {
			send(r)
		}
	}
}

func (f *fakeGateway) row(turn string, role chat.Role, content string) protocol.Message {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := protocol.Message{SessionID: fakeSession, Seq: int64(len(f.rows) + 1), TurnID: turn, Role: role, Content: content}
	f.rows = append(f.rows, m)
	return m
}

func (f *fakeGateway) message(send func(protocol.ServerFrame), conn int, m protocol.UserMessage) (hangUp bool) {
	f.mu.Lock()
	turn, duplicate := f.accepted[m.ID]
	if !duplicate {
		turn = fmt.Sprintf("turn-%d", len(f.accepted)+1)
		f.accepted[m.ID] = turn
		f.runs[m.ID]++
	}
	f.mu.Unlock()
	send(protocol.Accepted{ID: m.ID, TurnID: turn, SessionID: fakeSession, Duplicate: duplicate})
	if !duplicate && f.afterAccept != nil && f.afterAccept(conn, m) {
		f.row(turn, chat.RoleUser, m.Content) // the turn ends while nobody is connected
		f.row(turn, chat.RoleAssistant, "re: "+m.Content)
		return true
	}
	switch {
	case f.answer != nil:
		f.answer(send, turn, m)
	case duplicate:
		send(protocol.Turn{TurnID: turn, SessionID: fakeSession, Status: protocol.TurnCompleted, Usage: &chat.Usage{PromptTokens: 1, CompletionTokens: 2}})
	default:
		send(f.row(turn, chat.RoleUser, m.Content))
		send(f.row(turn, chat.RoleAssistant, "re: "+m.Content))
		send(protocol.Turn{TurnID: turn, SessionID: fakeSession, Status: protocol.TurnCompleted, Usage: &chat.Usage{PromptTokens: 1, CompletionTokens: 2}})
	}
	return false
}

// talker is a running client and what it was told.
type talker struct {
	*Client
	mu     sync.Mutex
	frames []protocol.ServerFrame
	lost   []error
	runErr chan error
}

func (tk *talker) rows() []string {
	tk.mu.Lock()
	defer tk.mu.Unlock()
	var out []string
	for _, f := range tk.frames {
		if m, ok := f.(protocol.Message); ok {
			out = append(out, fmt.Sprintf("%d %s", m.Seq, m.Content))
		}
	}
	return out
}

// shown are the frames that it was told of.
func (tk *talker) shown() []protocol.ServerFrame {
	tk.mu.Lock()
	defer tk.mu.Unlock()
	return append([]protocol.ServerFrame(nil), tk.frames...)
}

func quickTiming() Timing {
	t := DefaultTiming()
	t.MinPause, t.MaxPause, t.RowsWait = time.Millisecond, 10*time.Millisecond, 50*time.Millisecond
	return t
}

func (f *fakeGateway) talk(t *testing.T, change func(*Options)) *talker {
	tk := &talker{runErr: make(chan error, 1)}
	n := 0
	o := Options{
		Locate: func(context.Context) (Endpoint, error) { return Endpoint{URL: f.srv.URL, Token: "good"}, nil },
		Hello:  protocol.Hello{ClientID: "client"},
		NewID:  func() string { n++; return fmt.Sprintf("m%d", n) },
		OnFrame: func(fr protocol.ServerFrame) {
			tk.mu.Lock()
			defer tk.mu.Unlock()
			tk.frames = append(tk.frames, fr)
		},
		OnLost: func(err error) {
			tk.mu.Lock()
			defer tk.mu.Unlock()
			tk.lost = append(tk.lost, err)
		},
		HTTP:   &http.Client{Transport: &http.Transport{}},
		Timing: quickTiming(),
	}
	if change != nil {
		change(&o)
	}
	tk.Client = New(o)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { tk.runErr <- tk.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-tk.ended })
	return tk
}

func (tk *talker) ask(t *testing.T, text string) (Outcome, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return tk.Do(ctx, text)
}
