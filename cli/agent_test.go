package cli

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"picobot/cli/app"
	"picobot/internal/chat"
	"picobot/internal/home"
	"picobot/internal/protocol"
)

// echoGateway is what Runtime.Gateway is to an agent, with answers of its own: it
// owns the home, answers /health and /ws, and echoes.
type echoGateway struct {
	hellos []protocol.Hello
	tokens []string
	// hold, if set, is called before an answer; the turn ends cancelled when it is cancelled.
	hold    func()
	stopped chan struct{}
}

func (e *echoGateway) run(ctx context.Context, o app.Options, ready func(app.Addresses)) error {
	lock, err := o.Home.Lock(home.Owner{Command: o.Command})
	if err != nil {
		return err
	}
	defer close(e.stopped)
	defer func() { _ = lock.Unlock() }()
	mux := http.NewServeMux()
	mux.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"status":"ok"}`)) })
	mux.HandleFunc("/ws", e.socket)
	srv := httptest.NewServer(mux)
	defer srv.Close()
	if err := lock.Update(home.Owner{Command: o.Command, Address: srv.Listener.Addr().String()}); err != nil {
		return err
	}
	o.Log.Info("serving")
	ready(app.Addresses{Gateway: srv.URL})
	<-ctx.Done()
	return nil
}

func (e *echoGateway) socket(w http.ResponseWriter, r *http.Request) {
	e.tokens = append(e.tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	send := func(f protocol.ServerFrame) { _ = conn.Write(r.Context(), websocket.MessageText, protocol.Encode(f)) }
	for seq := int64(0); ; {
		_, data, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		switch f, _ := protocol.Decode(data); f := f.(type) {
		case protocol.Hello:
			e.hellos = append(e.hellos, f)
			send(protocol.Welcome{Protocol: 1, SessionID: "cli:c:1"})
		case protocol.Cancel:
			send(protocol.Turn{TurnID: f.TurnID, SessionID: "cli:c:1", Status: protocol.TurnCancelled})
		case protocol.UserMessage:
			send(protocol.Accepted{ID: f.ID, TurnID: "turn" + f.ID, SessionID: "cli:c:1"})
			if e.hold != nil {
				e.hold()
				continue
			}
			seq++
			send(protocol.Message{SessionID: "cli:c:1", Seq: seq, TurnID: "turn" + f.ID, Role: chat.RoleAssistant, Content: "re: " + f.Content})
			send(protocol.Turn{TurnID: "turn" + f.ID, SessionID: "cli:c:1", Status: protocol.TurnCompleted})
		}
	}
}

func agentHarness(t *testing.T) (*harness, *echoGateway) {
	h := newHarness(t)
	h.config(`{"gateway": {"addr": "127.0.0.1:0"}}`)
	e := &echoGateway{stopped: make(chan struct{})}
	h.runtime.serve = e.run
	return h, e
}

func TestAgentStartsAGatewaySaysSoAndStopsItAtTheEnd(t *testing.T) {
	h, e := agentHarness(t)
	r := h.run("agent", "-m", "hi")
	if r.code != 0 || r.stdout != "re: hi\n" || !strings.Contains(r.stderr, "No gateway was running") {
		t.Errorf("%+v", r)
	}
	<-e.stopped
	log, err := os.ReadFile(filepath.Join(h.home, "logs", "gateway.log"))
	if err != nil || !strings.Contains(string(log), "serving") || strings.Contains(r.stderr, "serving") {
		t.Errorf("the gateway's log belongs into its file: %q, %v, stderr %q", log, err, r.stderr)
	}
	if h.runtime.options.Command != "agent" {
		t.Errorf("command %q", h.runtime.options.Command)
	}
}

func TestAgentPresentsItselfAndTheTokenOfTheHome(t *testing.T) {
	h, e := agentHarness(t)
	h.config(`{"gateway": {"addr": "127.0.0.1:0"}, "locale": "zh-CN"}`)
	if r := h.run("agent", "--chat", "c", "--session", "cli:c:1", "--agent", "default", "-m", "hi"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	hm, err := home.At(h.home)
	if err != nil {
		t.Fatal(err)
	}
	id, _ := hm.ClientID()
	token, _ := hm.Token()
	want := protocol.Hello{ClientID: id, ChatID: "c", SenderID: "c", SessionID: "cli:c:1", Agent: "default", Locale: "zh-CN"}
	if len(e.hellos) != 1 || e.hellos[0] != want || e.tokens[0] != token {
		t.Errorf("hello %+v, tokens %q", e.hellos, e.tokens)
	}
	e.stopped = make(chan struct{})
	if r := h.run("agent", "--token", "mine", "-m", "hi"); r.code != 0 || e.tokens[1] != "mine" {
		t.Errorf("%+v, tokens %q", r, e.tokens)
	}
}

func TestAgentWhoseAnswerIsSeen_LetsItNotDriveTheTerminal(t *testing.T) {
	const said = "red \x1b[31m\x1b]0;title\x07 \u009b2J 中文\ttab"
	for screen, want := range map[bool]string{true: "re: red [31m]0;title 2J 中文\ttab\n", false: "re: " + said + "\n"} {
		h, _ := agentHarness(t)
		h.screen = screen
		if r := h.run("agent", "-m", said); r.code != 0 || r.stdout != want {
			t.Errorf("%+v", r)
		}
	}
}

// How far a dialog was seen is a convenience: a disk that is full is no failed turn.
func TestAgentThatCannotNoteWhatWasSeen_SaysSoAndHasAnswered(t *testing.T) {
	h, _ := agentHarness(t)
	if err := os.Mkdir(filepath.Join(h.home, "client.seen"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := h.run("agent", "-m", "hi")
	if r.code != 0 || r.stdout != "re: hi\n" || strings.Count(r.stderr, "could not be noted as seen") != 1 {
		t.Errorf("%+v", r)
	}
}

func TestAgentReadsOneMessagePerLineWhenThereIsNoTerminal(t *testing.T) {
	h, _ := agentHarness(t)
	h.stdin = "one\n\ntwo\n"
	if r := h.run("agent"); r.code != 0 || r.stdout != "re: one\nre: two\n" {
		t.Errorf("%+v", r)
	}
}

func TestFirstInterruptOfATurnStopsTheTurn(t *testing.T) {
	h, e := agentHarness(t)
	e.hold = func() { h.signals <- interrupt }
	if r := h.run("agent", "-m", "hi"); r.code != 1 || r.stdout != "" || !strings.Contains(r.stderr, "the turn was cancelled") {
		t.Errorf("%+v", r)
	}
	<-e.stopped
}

func TestSecondInterruptLeavesAndStillStopsTheGateway(t *testing.T) {
	h, e := agentHarness(t)
	e.hold = func() {
		h.signals <- interrupt
		h.signals <- interrupt
	}
	r := h.run("agent", "-m", "hi")
	if r.code != 1 || r.stdout != "" {
		t.Errorf("%+v", r)
	}
	<-e.stopped
}

func TestAgentWhoseGatewayCannotStartFails(t *testing.T) {
	h, _ := agentHarness(t)
	h.runtime.serve = failing
	if r := h.run("agent", "-m", "hi"); r.code != 1 || r.stdout != "" || strings.Count(r.stderr, "the port is taken") != 1 {
		t.Errorf("%+v", r)
	}
}
