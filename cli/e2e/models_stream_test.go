package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"picobot/internal/protocol"
	"picobot/internal/testkit/fakeanthropic"
	"picobot/internal/testkit/fakeopenai"
	"picobot/internal/testkit/harness"
)

// A client puts together what the newest attempt at a step showed: that has to be the
// whole answer, whatever attempts before it left behind.
func TestStreamThatBreaksIsReplacedByTheNextAttempt(t *testing.T) {
	m := newModels(t, fakeopenai.Config{}, nil)
	half := strings.Repeat("this is not how it ends, ", 4)
	whole := "the whole answer, " + strings.Repeat("from its beginning to its end, ", 8)
	for name, script := range map[string]func(){
		"gpt": func() {
			m.gpt.Enqueue(fakeopenai.CutStream{Reply: fakeopenai.Reply{Reasoning: "hm, ", Text: half}, AfterChunks: 12}, fakeopenai.Reply{Text: whole})
		},
		"claude": func() {
			m.claude.Enqueue(fakeanthropic.FailStream{Reply: fakeanthropic.Reply{Text: half}, AfterEvents: 9, Type: "overloaded_error", Message: "Overloaded"}, fakeanthropic.Reply{Text: whole})
		},
	} {
		t.Run(name, func(t *testing.T) {
			script()
			c := m.chat(name)
			turn := m.ask(c, "hello")
			if turn.Status != protocol.TurnCompleted || turn.Steps != 1 {
				t.Fatalf("%+v", turn)
			}
			if got := shown(c, turn.TurnID, "text", 1, 1); got == "" || !strings.HasPrefix(half, got) {
				t.Errorf("the first attempt showed %q", got)
			}
			if got := shown(c, turn.TurnID, "text", 1, 2); got != whole {
				t.Errorf("the second attempt showed %q", got)
			}
			newest, row := 0, false
			for _, f := range c.Frames() {
				switch f := f.(type) {
				case protocol.Delta:
					if f.Attempt < newest || row {
						t.Errorf("attempt %d after attempt %d or the row", f.Attempt, newest)
					}
					newest = f.Attempt
				case protocol.Message:
					row = f.Role == "assistant"
				}
			}
			same(t, "rows", m.h.Record(`SELECT role, content FROM messages WHERE turn_id = ? ORDER BY seq`, turn.TurnID), "user|hello", "assistant|"+whole)
			if said := notices(c); len(said) > 0 {
				t.Errorf("a second's wait is no news: %q", said)
			}
		})
	}
	m.T = t
	m.valid()
}

// A fallback shows its answer in place of what the model before it showed.
func TestStreamThatBreaksIsReplacedByTheFallback(t *testing.T) {
	m := newModels(t, fakeopenai.Config{}, nil)
	half := strings.Repeat("half ", 20)
	m.gpt.Enqueue(fakeopenai.CutStream{Reply: fakeopenai.Reply{Text: half}, AfterChunks: 9, Error: &fakeopenai.Error{Code: "insufficient_quota", Message: "You exceeded your current quota"}})
	m.claude.Enqueue(fakeanthropic.Reply{Text: "instead"})
	c := m.chat("default")
	turn := m.ask(c, "hello")
	deltas := harness.Of[protocol.Delta](c)
	last := deltas[len(deltas)-1].Attempt
	if first := deltas[0].Attempt; last <= first || shown(c, turn.TurnID, "text", 1, last) != "instead" {
		t.Errorf("%+v", deltas)
	}
	same(t, "notices", notices(c), "Model gpt fails (no credit left); claude takes over.")
	m.valid()
}

// Words come faster than anybody reads. A client that reads gets them in few frames;
// one that does not read holds up neither the model nor the other.
func TestFastStreamComesInFewFramesAndASlowClientHoldsUpNobody(t *testing.T) {
	const pieces, piece = 10_000, 200
	m := newModels(t, fakeopenai.Config{TextPiece: piece}, nil)
	var words strings.Builder
	for words.Len() < pieces*piece {
		fmt.Fprintf(&words, "%09d ", words.Len())
	}
	m.gpt.Enqueue(fakeopenai.Reply{Text: words.String(), Usage: &fakeopenai.Usage{Prompt: 7, Completion: 5}})
	c := m.chat("gpt")
	m.deaf(protocol.Hello{ClientID: "deaf", SessionID: harness.Of[protocol.Welcome](c)[0].SessionID})
	turn := m.ask(c, "count")
	if turn.Status != protocol.TurnCompleted {
		t.Fatalf("%+v", turn)
	}
	if got := shown(c, turn.TurnID, "text", 1, 1); !strings.HasPrefix(words.String(), got) || got == "" {
		t.Errorf("deltas are not in order, or there are none: %d bytes", len(got))
	}
	if n := len(harness.Of[protocol.Delta](c)); n > pieces/2 {
		t.Errorf("%d frames for %d pieces", n, pieces)
	}
	same(t, "the record", m.h.Record(`SELECT content = ? FROM messages WHERE turn_id = ? AND role = 'assistant'`, words.String(), turn.TurnID), "1")
	same(t, "usage", []string{m.row(turn, "prompt_tokens, completion_tokens")}, "7|5")
	m.valid()
}

// deaf connects a client that says hello and never reads.
func (m *models) deaf(h protocol.Hello) {
	m.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if tcp, ok := c.(*net.TCPConn); ok {
			err = tcp.SetReadBuffer(4 << 10)
		}
		return c, err
	}
	ws, _, err := websocket.Dial(ctx, m.g.URL+"/ws?token="+m.h.Token(), &websocket.DialOptions{HTTPClient: &http.Client{Transport: &http.Transport{DialContext: dial}}})
	if err == nil {
		m.Cleanup(func() { _ = ws.CloseNow() })
		err = ws.Write(ctx, websocket.MessageText, protocol.EncodeClient(h))
	}
	if err != nil {
		m.Fatal(err)
	}
}

// Usage of a turn is that of every answer in it; what failed and said nothing of its
// cost adds nothing, what was empty and was asked for again does.
func TestUsageOfATurnCountsEveryAnswerOnce(t *testing.T) {
	m := newModels(t, fakeopenai.Config{}, nil)
	m.gpt.Enqueue(
		fakeopenai.Error{Status: 503, Message: "later", Header: soon()},
		fakeopenai.Reply{ToolCalls: []fakeopenai.ToolCall{{Name: "calculator", Arguments: `{"expression":"1+1"}`}}, Usage: &fakeopenai.Usage{Prompt: 1000, Completion: 100}},
		fakeopenai.Reply{Text: "  ", Usage: &fakeopenai.Usage{Prompt: 2000, Completion: 1}},
		fakeopenai.Reply{Text: "two", Usage: &fakeopenai.Usage{Prompt: 4000, Completion: 7}},
	)
	r := m.h.Run("agent", "--json", "--agent", "gpt", "--chat", "usage", "-m", "1+1?")
	a := parse(t, r.Stdout)
	if a.Reply != "two" || *a.Usage.Prompt != 7000 || *a.Usage.Completion != 108 {
		t.Errorf("%+v", r)
	}
	same(t, "the turn", m.h.Record(`SELECT steps, prompt_tokens, completion_tokens FROM turns`), "2|7000|108")
	m.valid()
}

func TestModelThatDoesNotStreamAnswersAllTheSame(t *testing.T) {
	m := newModels(t, fakeopenai.Config{}, map[string]object{"whole": {"provider": "gpt", "model": "fake-model", "stream": false}})
	m.gpt.Enqueue(
		fakeopenai.Reply{Reasoning: "hm", ToolCalls: []fakeopenai.ToolCall{{Name: "calculator", Arguments: `{"expression":"1+1"}`}}, Usage: &fakeopenai.Usage{Prompt: 10, Completion: 1}},
		fakeopenai.CutStream{}, // breaks before it has begun
		fakeopenai.Reply{Text: "two", Usage: &fakeopenai.Usage{Prompt: 20, Completion: 2}},
	)
	c := m.chat("whole")
	turn := m.ask(c, "1+1?")
	same(t, "the turn", []string{m.row(turn, "status, steps, prompt_tokens, completion_tokens"), m.reply(turn)}, "completed|2|30|3", "two")
	for _, r := range m.gpt.Requests() {
		if r.Stream {
			t.Error("a stream was asked for")
		}
	}
	m.valid()
}
