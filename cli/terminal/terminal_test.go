package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"picobot/cli/client"
	"picobot/internal/chat"
	"picobot/internal/protocol"
	"picobot/internal/text"
)

// script answers messages: "fail …" fails, "refuse …" is refused, "cut" breaks off.
type script struct {
	asked []string
	// during is called while a message is being answered.
	during func(text string)
}

func (s *script) Do(ctx context.Context, text string) (client.Outcome, error) {
	s.asked = append(s.asked, text)
	if s.during != nil {
		s.during(text)
	}
	o := client.Outcome{SessionID: "cli:a:1", TurnID: "t1", Status: "completed", Reply: "re: " + text, Usage: chat.Usage{PromptTokens: 3, CompletionTokens: 4, CachedTokens: 2, ReasoningTokens: 1}}
	word, _, _ := strings.Cut(text, " ")
	switch word {
	case "fail":
		o.Status, o.Reply, o.Problem = "failed", "it went wrong", &protocol.Problem{Code: "server_error", Message: "it went wrong"}
	case "stop":
		o.Status, o.Reply = "cancelled", ""
	case "refuse":
		return client.Outcome{}, &client.RefusedError{Code: "read_only", Message: "no"}
	case "cut":
		return client.Outcome{}, errors.New("connection lost for good")
	case "wait":
		<-ctx.Done()
		return client.Outcome{}, ctx.Err()
	}
	return o, nil
}

func (s *script) Cancel() bool { return false }

func outputs() (Output, *bytes.Buffer, *bytes.Buffer) {
	var out, errs bytes.Buffer
	return Output{Stdout: &out, Stderr: &errs}, &out, &errs
}

func TestOneMessagePrintsTheReplyAndNothingElse(t *testing.T) {
	o, out, errs := outputs()
	if err := One(t.Context(), &script{}, "hi", o); err != nil {
		t.Fatal(err)
	}
	if out.String() != "re: hi\n" || errs.Len() > 0 {
		t.Errorf("stdout %q, stderr %q", out, errs)
	}
}

func TestFailedTurnPrintsNothingAndSaysWhy(t *testing.T) {
	for text, want := range map[string]string{"fail x": "the turn failed: it went wrong", "stop": "the turn was cancelled"} {
		o, out, _ := outputs()
		err := One(t.Context(), &script{}, text, o)
		var failed *FailedError
		if !errors.As(err, &failed) || err.Error() != want {
			t.Errorf("%s: got %v", text, err)
		}
		if out.Len() > 0 {
			t.Errorf("%s: stdout %q", text, out)
		}
	}
}

func TestJSONIsOneObjectAlsoForAFailedTurn(t *testing.T) {
	for text, wantStatus := range map[string]string{"hi": "completed", "fail x": "failed"} {
		o, out, _ := outputs()
		o.JSON = true
		err := One(t.Context(), &script{}, text, o)
		if (err != nil) != (wantStatus == "failed") {
			t.Errorf("%s: %v", text, err)
		}
		var got map[string]any
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || strings.Count(out.String(), "\n") != 1 {
			t.Fatalf("%s: %q: %v", text, out, err)
		}
		usage, _ := got["usage"].(map[string]any)
		if got["session_id"] != "cli:a:1" || got["turn_id"] != "t1" || got["status"] != wantStatus || got["reply"] == "" ||
			usage["prompt_tokens"] != 3.0 || usage["completion_tokens"] != 4.0 || usage["cached_tokens"] != 2.0 || usage["reasoning_tokens"] != 1.0 {
			t.Errorf("%s: got %s", text, out)
		}
	}
}

func TestInterruptedWaitSaysThatTheMessageIsNotLost(t *testing.T) {
	o, _, _ := outputs()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := One(ctx, &script{}, "wait", o); err == nil || !strings.Contains(err.Error(), "still answered") {
		t.Errorf("got %v", err)
	}
}

func TestEachLineIsAMessageAndRepliesComeInOrder(t *testing.T) {
	o, out, errs := outputs()
	s := &script{}
	err := Lines(t.Context(), s, strings.NewReader("one\n\n  \r\nfail two\r\nrefuse three\nfour"), 100, o)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != "re: one\nre: four\n" {
		t.Errorf("stdout %q", out)
	}
	if got := strings.Join(s.asked, "|"); got != "one|fail two|refuse three|four" {
		t.Errorf("sent %q", got)
	}
	if got := errs.String(); !strings.Contains(got, "the turn failed: it went wrong") || !strings.Contains(got, "(read_only)") {
		t.Errorf("stderr %q", got)
	}
}

func TestInputWithoutMessagesIsFine(t *testing.T) {
	o, out, _ := outputs()
	if err := Lines(t.Context(), &script{}, strings.NewReader("\n\n"), 100, o); err != nil || out.Len() > 0 {
		t.Errorf("got %v, stdout %q", err, out)
	}
}

func TestLinesFailWhenNothingWasTakenOrTheConversationBreaksOff(t *testing.T) {
	for input, want := range map[string]string{
		"refuse a\nrefuse b\n":   "read_only",
		"one\ncut\nnever\n":      "connection lost for good",
		strings.Repeat("x", 200): "line 1 has more than the 100 bytes",
		"one\nwait for a signal": "",
	} {
		o, _, _ := outputs()
		s := &script{}
		ctx, cancel := context.WithCancel(t.Context())
		s.during = func(text string) {
			if strings.HasPrefix(text, "wait") {
				cancel()
			}
		}
		err := Lines(ctx, s, strings.NewReader(input), 100, o)
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v", input, err)
		}
		for _, text := range s.asked {
			if text == "never" {
				t.Error("a line was sent after the conversation had broken off")
			}
		}
	}
}

func TestLineLimitCountsBytesWithoutTheLineEnd(t *testing.T) {
	const most = 200_000 // more than one buffer
	fits := strings.Repeat("é", most/2)
	for _, end := range []string{"\n", "\r\n", ""} {
		o, out, errs := outputs()
		err := Lines(t.Context(), &script{}, strings.NewReader("x"+fits+"\nafter\n"+fits+end), most, o)
		if err != nil {
			t.Fatal(err)
		}
		if want := "re: after\nre: " + fits + "\n"; out.String() != want {
			t.Errorf("end %q: stdout has %d bytes, want %d", end, out.Len(), len(want))
		}
		if !strings.Contains(errs.String(), "line 1 has more") {
			t.Errorf("stderr %q", errs)
		}
	}
}

func TestBrokenInputIsAnError(t *testing.T) {
	o, _, _ := outputs()
	r := io.MultiReader(strings.NewReader("one\n"), failingReader{})
	if err := Lines(t.Context(), &script{}, r, 100, o); err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("got %v", err)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

func TestAsideShowsNoticesAndErrorsWithoutAMessage(t *testing.T) {
	var w bytes.Buffer
	a := NewAside(&w, nil)
	a.Frame(protocol.Notice{Level: "warn", Text: "offline\x1b[31m"})
	a.Frame(protocol.Notice{Level: "message", Text: "from a job\n"})
	a.Frame(protocol.Error{Code: "bad_frame", Message: "x"})
	a.Frame(protocol.Error{ID: "m1", Code: "read_only", Message: "told elsewhere"})
	a.Frame(protocol.Message{Role: chat.RoleAssistant, Content: "an answer"})
	if got, want := w.String(), "warn: offline[31m\nfrom a job\nthe gateway says: x (bad_frame)\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAside_MessageBehindAnotherTurn_SaysOnceThatItWaits(t *testing.T) {
	var w bytes.Buffer
	a := NewAside(&w, nil)
	a.Frame(protocol.Turn{TurnID: "old", Status: protocol.TurnStarted})
	a.Frame(protocol.Turn{TurnID: "mine", Status: protocol.TurnQueued})
	a.Frame(protocol.Turn{TurnID: "mine", Status: protocol.TurnQueued})
	a.Frame(protocol.Turn{TurnID: "old", Status: protocol.TurnCompleted})
	a.Frame(protocol.Turn{TurnID: "mine", Status: protocol.TurnStarted})
	if got, want := w.String(), "An earlier message of this dialog is still being answered; yours is answered after it.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	w.Reset()
	a = NewAside(&w, nil)
	a.Frame(protocol.Turn{TurnID: "mine", Status: protocol.TurnQueued})
	a.Frame(protocol.Turn{TurnID: "mine", Status: protocol.TurnStarted})
	if w.Len() > 0 {
		t.Errorf("said %q of a message that waits for nothing", w.String())
	}
}

// Whoever left before the answer has seen the message, which is not shown again.
func TestAside_AnswerToAMessageSeenBefore_IsSaidWithoutIt(t *testing.T) {
	var w bytes.Buffer
	a := NewAside(&w, nil)
	a.Earlier([]protocol.Message{{TurnID: "t", Role: chat.RoleAssistant, Content: "42"}})
	if got := w.String(); got != "Meanwhile an earlier message was answered: 42\n" {
		t.Errorf("got %q", got)
	}
}

func TestAside_OtherMessagesThatWereAnswered_AreSaidInOneLine(t *testing.T) {
	var w bytes.Buffer
	a := NewAside(&w, nil)
	row := func(turn string, role chat.Role, content string) protocol.Message {
		return protocol.Message{TurnID: turn, Role: role, Content: content}
	}
	call := row("old", chat.RoleAssistant, "let me see")
	call.ToolCalls = []chat.ToolCall{chat.NewToolCall("c1", "bash", "{}")}
	a.Earlier([]protocol.Message{row("old", chat.RoleUser, "how\nare\x1b[2J you?"), call, row("old", chat.RoleTool, "x"), row("old", chat.RoleAssistant, "fine,\nthanks")})
	a.Frame(protocol.Accepted{ID: "m", TurnID: "mine"})
	for _, m := range []protocol.Message{
		row("mine", chat.RoleUser, "hi"), row("mine", chat.RoleAssistant, "hello"),
		row("theirs", chat.RoleUser, "long"), row("theirs", chat.RoleAssistant, strings.Repeat("字", 1000)),
		row("", chat.RoleAssistant, "sent by a job, and told as a notice"),
	} {
		a.Frame(m)
	}
	want := "Meanwhile “how are [2J you?” was answered: fine, thanks\nMeanwhile “long” was answered: " + strings.Repeat("字", 199) + "…\n"
	if w.String() != want {
		t.Errorf("got %q, want %q", w.String(), want)
	}
}

func TestChinese_NothingIsSaidInEnglish(t *testing.T) {
	words := text.For(text.Chinese)
	o, _, _ := outputs()
	o.Words = words
	var w bytes.Buffer
	a := NewAside(&w, words)
	a.Frame(protocol.Notice{Level: "warn", Text: "甲"})
	a.Frame(protocol.Notice{Level: "error", Text: "乙"})
	a.Frame(protocol.Error{Code: "x", Message: "丙"})
	for _, ask := range []string{"fail x", "stop", "refuse x"} {
		err := One(t.Context(), &script{}, ask, o)
		a.Say(err.Error())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.Say(One(ctx, &script{}, "wait", o).Error())
	got := w.String()
	for _, english := range []string{"warn", "error:", "gateway", "turn", "failed", "cancelled", "interrupted"} {
		if strings.Contains(got, english) {
			t.Errorf("%q is in\n%s", english, got)
		}
	}
}
