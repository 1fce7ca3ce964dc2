package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"picobot/internal/chat"
	"picobot/internal/protocol"
)

func TestMessageIsAnswered(t *testing.T) {
	tk := newFake(t).talk(t, nil)
	for _, text := range []string{"one", "two"} {
		o, err := tk.ask(t, text)
		if err != nil {
			t.Fatal(err)
		}
		want := Outcome{SessionID: fakeSession, TurnID: o.TurnID, Status: "completed", Reply: "re: " + text, Usage: chat.Usage{PromptTokens: 1, CompletionTokens: 2}}
		if o != want || o.TurnID == "" {
			t.Errorf("got %+v, want %+v", o, want)
		}
	}
}

func TestMessageThatWasLostBeforeItsAckIsSentAgainUnderItsID(t *testing.T) {
	f := newFake(t)
	f.onMessage = func(conn int, _ protocol.UserMessage) bool { return conn < 3 }
	tk := f.talk(t, nil)
	o, err := tk.ask(t, "hi")
	if err != nil || o.Reply != "re: hi" {
		t.Fatalf("got %+v, %v", o, err)
	}
	if f.runs["m1"] != 1 || len(f.accepted) != 1 {
		t.Errorf("runs %v", f.runs)
	}
	if len(tk.lost) == 0 {
		t.Error("nobody was told of the lost connection")
	}
}

func TestTurnThatEndedWhileNobodyWasConnectedIsFoundByResuming(t *testing.T) {
	f := newFake(t)
	f.afterAccept = func(conn int, _ protocol.UserMessage) bool { return conn == 2 }
	hangUp := true
	f.onMessage = func(conn int, _ protocol.UserMessage) bool { h := hangUp && conn == 1; return h }
	tk := f.talk(t, nil)
	o, err := tk.ask(t, "hi")
	if err != nil || o.Reply != "re: hi" || o.Status != "completed" {
		t.Fatalf("got %+v, %v", o, err)
	}
	if f.runs["m1"] != 1 {
		t.Errorf("the message ran %d times", f.runs["m1"])
	}
	last := f.hellos[len(f.hellos)-1]
	if last.SessionID != fakeSession || last.FromSeq == nil || *last.FromSeq != 0 {
		t.Errorf("the client did not resume: %+v", last)
	}
	if got := tk.rows(); !slices.Equal(got, []string{"1 hi", "2 re: hi"}) {
		t.Errorf("rows shown: %q", got)
	}
}

func TestRowsAreShownOnceHoweverOftenTheyCome(t *testing.T) {
	f := newFake(t)
	f.answer = func(send func(protocol.ServerFrame), turn string, m protocol.UserMessage) {
		user, reply := f.row(turn, chat.RoleUser, m.Content), f.row(turn, chat.RoleAssistant, "re")
		for range 2 {
			send(user)
			send(reply)
		}
		send(protocol.Notice{ID: "n1", Level: "info", Text: "x"})
		send(protocol.Notice{ID: "n1", Level: "info", Text: "x"})
		send(protocol.Notice{ID: "offline/1", Level: "warn", Text: "offline"})
		send(protocol.Notice{ID: "offline/2", Level: "warn", Text: "offline, says another gateway"})
		send(protocol.Turn{TurnID: turn, SessionID: fakeSession, Status: "completed"})
	}
	tk := f.talk(t, nil)
	if _, err := tk.ask(t, "hi"); err != nil {
		t.Fatal(err)
	}
	if got := tk.rows(); !slices.Equal(got, []string{"1 hi", "2 re"}) {
		t.Errorf("rows shown: %q", got)
	}
	notices := 0
	for _, fr := range tk.frames {
		if _, ok := fr.(protocol.Notice); ok {
			notices++
		}
	}
	if notices != 2 {
		t.Errorf("notices shown %d times", notices)
	}
}

func TestReplyIsFetchedWhenTheTurnEndsWithoutItsRows(t *testing.T) {
	f := newFake(t)
	f.answer = func(send func(protocol.ServerFrame), turn string, m protocol.UserMessage) {
		f.row(turn, chat.RoleUser, m.Content)
		f.row(turn, chat.RoleAssistant, "fetched")
		send(protocol.Turn{TurnID: turn, SessionID: fakeSession, Status: "completed"})
	}
	tk := f.talk(t, func(o *Options) { o.Timing.RowsWait = time.Minute })
	if o, err := tk.ask(t, "hi"); err != nil || o.Reply != "fetched" {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestTurnWithoutAnyRowStillEnds(t *testing.T) {
	f := newFake(t)
	f.answer = func(send func(protocol.ServerFrame), turn string, _ protocol.UserMessage) {
		send(protocol.Turn{TurnID: turn, SessionID: fakeSession, Status: "failed", Error: &protocol.Problem{Code: "x", Message: "why"}})
	}
	tk := f.talk(t, nil)
	if o, err := tk.ask(t, "hi"); err != nil || o.Status != "failed" || o.Problem.Message != "why" {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestReplyIsTheLastAssistantRowOfTheTurn(t *testing.T) {
	f := newFake(t)
	f.answer = func(send func(protocol.ServerFrame), turn string, m protocol.UserMessage) {
		send(f.row(turn, chat.RoleUser, m.Content))
		call := f.row(turn, chat.RoleAssistant, "let me see")
		call.ToolCalls = []chat.ToolCall{chat.NewToolCall("c", "calculator", "{}")}
		send(call)
		send(f.row(turn, chat.RoleTool, "84"))
		send(f.row("other", chat.RoleAssistant, "of another turn"))
		send(f.row(turn, chat.RoleAssistant, "it is 84"))
		send(protocol.Turn{TurnID: turn, SessionID: fakeSession, Status: "completed"})
	}
	if o, err := f.talk(t, nil).ask(t, "hi"); err != nil || o.Reply != "it is 84" {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestCommandIsAnsweredByItsCommandFrame(t *testing.T) {
	f := newFake(t)
	f.answer = func(send func(protocol.ServerFrame), _ string, m protocol.UserMessage) {
		send(protocol.Command{ID: m.ID, Name: "help", OK: true, Text: "commands"})
	}
	o, err := f.talk(t, nil).ask(t, "/help")
	if err != nil || o.Reply != "commands" || o.Status != "completed" || o.Command == nil || o.TurnID != "" {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestAnswerHasBeenShownByTheTimeDoReturns(t *testing.T) {
	f := newFake(t)
	f.answer = func(send func(protocol.ServerFrame), _ string, m protocol.UserMessage) {
		send(protocol.Command{ID: m.ID, Name: "help", OK: true, Text: "commands"})
	}
	var shown atomic.Bool
	tk := f.talk(t, func(o *Options) {
		o.OnFrame = func(fr protocol.ServerFrame) {
			if _, ok := fr.(protocol.Command); ok {
				time.Sleep(20 * time.Millisecond)
				shown.Store(true)
			}
		}
	})
	if _, err := tk.ask(t, "/help"); err != nil || !shown.Load() {
		t.Errorf("shown %v, %v", shown.Load(), err)
	}
}

func TestNewSessionIsResumedFromItsOwnPlace(t *testing.T) {
	f := newFake(t)
	var conns atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		send := func(fr protocol.ServerFrame) { _ = conn.Write(r.Context(), websocket.MessageText, protocol.Encode(fr)) }
		_, data, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		frame, _ := protocol.Decode(data)
		hello := frame.(protocol.Hello)
		f.mu.Lock()
		f.hellos = append(f.hellos, hello)
		f.mu.Unlock()
		if conns.Add(1) == 1 {
			send(protocol.Welcome{Protocol: 1, SessionID: "cli:a:1", LastSeq: 40})
			send(protocol.Welcome{Protocol: 1, SessionID: "cli:a:2", LastSeq: 3})
			send(protocol.Message{SessionID: "cli:a:1", Seq: 41}) // too late
			send(protocol.Message{SessionID: "cli:a:2", Seq: 4})
			return
		}
		send(protocol.Welcome{Protocol: 1, SessionID: "cli:a:2", LastSeq: 9})
		_, _, _ = conn.Read(r.Context())
	}))
	t.Cleanup(srv.Close)
	tk := f.talk(t, func(o *Options) {
		o.Locate = func(context.Context) (Endpoint, error) { return Endpoint{URL: srv.URL}, nil }
	})
	deadline := time.Now().Add(10 * time.Second)
	for conns.Load() < 2 || tk.Session() == "" {
		if time.Now().After(deadline) {
			t.Fatal("the client did not reconnect")
		}
		time.Sleep(time.Millisecond)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.hellos[1]; h.SessionID != "cli:a:2" || h.FromSeq == nil || *h.FromSeq != 4 {
		t.Errorf("resumed with %+v", h)
	}
}

func TestCancelReachesTheTurnAlsoWhenItIsNotAcceptedYet(t *testing.T) {
	f := newFake(t)
	f.answer = func(func(protocol.ServerFrame), string, protocol.UserMessage) {} // runs for ever
	tk := f.talk(t, nil)
	if tk.Cancel() {
		t.Error("there was nothing to cancel")
	}
	done := make(chan Outcome, 1)
	go func() {
		o, _ := tk.ask(t, "hi")
		done <- o
	}()
	for !tk.Cancel() {
		time.Sleep(time.Millisecond)
	}
	if o := <-done; o.Status != "cancelled" {
		t.Errorf("got %+v", o)
	}
	if !slices.Equal(f.cancels, []string{"turn-1"}) {
		t.Errorf("cancels %q", f.cancels)
	}
}

func TestRefusedMessagesComeBackAsErrors(t *testing.T) {
	for _, withID := range []bool{true, false} {
		f := newFake(t)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, err := websocket.Accept(w, r, nil)
			if err != nil {
				return
			}
			defer func() { _ = conn.CloseNow() }()
			for {
				_, data, err := conn.Read(r.Context())
				if err != nil {
					return
				}
				frame, _ := protocol.Decode(data)
				var out protocol.ServerFrame = protocol.Welcome{Protocol: 1, SessionID: fakeSession}
				if m, ok := frame.(protocol.UserMessage); ok {
					e := protocol.Error{Code: protocol.CodeTooLarge, Message: "too large"}
					if withID {
						e.ID = m.ID
					}
					out = e
				}
				_ = conn.Write(r.Context(), websocket.MessageText, protocol.Encode(out))
			}
		}))
		t.Cleanup(srv.Close)
		tk := f.talk(t, func(o *Options) {
			o.Locate = func(context.Context) (Endpoint, error) { return Endpoint{URL: srv.URL}, nil }
		})
		_, err := tk.ask(t, "hi")
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Code != "too_large" {
			t.Errorf("with id %v: got %v", withID, err)
		}
	}
}

func TestMessageThatMakesTheGatewayHangUpIsGivenUp(t *testing.T) {
	f := newFake(t)
	f.onMessage = func(int, protocol.UserMessage) bool { return true }
	_, err := f.talk(t, nil).ask(t, "poison")
	if err == nil || !strings.Contains(err.Error(), "hung up") {
		t.Errorf("got %v", err)
	}
}

func TestConversationEndsWithAClearErrorWhenItCannotGoOn(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fakeGateway, *Options)
		want   string
	}{
		"wrong token": {func(f *fakeGateway, _ *Options) { f.token = "another" }, "refused the token"},
		"wanted session is gone": {func(_ *fakeGateway, o *Options) {
			o.Hello.SessionID = "cli:gone:1"
		}, `there is no session "cli:gone:1" (not_found): see`},
		"wrong token of a gateway that was only come across": {func(f *fakeGateway, o *Options) {
			f.token = "another"
			o.Locate = func(context.Context) (Endpoint, error) {
				return Endpoint{URL: f.srv.URL, Token: "good", IfRefused: "another home's"}, nil
			}
		}, "another home's"},
		"no gateway can be found": {func(_ *fakeGateway, o *Options) {
			o.Locate = func(context.Context) (Endpoint, error) { return Endpoint{}, errors.New("nowhere") }
		}, "nowhere"},
		"nothing listens": {func(_ *fakeGateway, o *Options) {
			o.Locate = func(context.Context) (Endpoint, error) { return Endpoint{URL: "http://127.0.0.1:1"}, nil }
			o.Timing.GiveUp = 20 * time.Millisecond
		}, "no connection"},
	} {
		f := newFake(t)
		tk := f.talk(t, func(o *Options) { c.change(f, o) })
		_, err := tk.ask(t, "hi")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
		if len(tk.shown()) > 0 {
			t.Errorf("%s: told besides of %+v", name, tk.shown())
		}
	}
}

func TestOtherProtocolVersionIsRefused(t *testing.T) {
	s := newState(protocol.Hello{})
	s.connect()
	_, _, err := s.receive(protocol.Welcome{Protocol: 2})
	if _, fatal := errors.AsType[fatalError](err); !fatal {
		t.Errorf("got %v", err)
	}
}

func TestSessionThatWasDeletedElsewhereGivesWayToTheActiveOne(t *testing.T) {
	s := newState(protocol.Hello{ClientID: "c"})
	s.connect()
	if _, _, err := s.receive(protocol.Welcome{Protocol: 1, SessionID: "cli:c:1", LastSeq: 5}); err != nil {
		t.Fatal(err)
	}
	if h := s.connect(); h.SessionID != "cli:c:1" {
		t.Fatalf("resumes with %+v", h)
	}
	if _, _, err := s.receive(protocol.Error{Code: protocol.CodeNotFound}); !errors.Is(err, errGone) {
		t.Fatalf("got %v", err)
	}
	if h := s.connect(); h.SessionID != "" || h.FromSeq != nil {
		t.Errorf("begins with %+v", h)
	}
}

func TestManyMessagesAtOnceAreEachAnsweredOnceOverABadNetwork(t *testing.T) {
	f := newFake(t)
	var n atomic.Int32
	f.onMessage = func(int, protocol.UserMessage) bool { return n.Add(1)%3 == 0 }
	f.afterAccept = func(int, protocol.UserMessage) bool { return n.Load()%4 == 0 }
	var ids atomic.Int32
	tk := f.talk(t, func(o *Options) {
		o.NewID = func() string { return fmt.Sprintf("id-%d", ids.Add(1)) }
	})
	const total = 20
	results := make(chan error, total)
	for i := range total {
		go func() {
			text := fmt.Sprintf("text %d", i)
			o, err := tk.ask(t, text)
			if err == nil && o.Reply != "re: "+text {
				err = fmt.Errorf("%q was answered %q", text, o.Reply)
			}
			results <- err
		}()
	}
	for range total {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, runs := range f.runs {
		if runs != 1 {
			t.Errorf("%s ran %d times", id, runs)
		}
	}
	if got := tk.rows(); len(got) != 2*total || !slices.Equal(got, slices.Compact(slices.Clone(got))) {
		t.Errorf("%d rows shown, want %d", len(got), 2*total)
	}
}
