package protocol

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
)

func everyServerFrame() []ServerFrame {
	return []ServerFrame{
		Welcome{Protocol: Version, Server: "picobot", SessionID: "cli:c:d", Title: "t", LastSeq: 4, Model: "m", Offline: true},
		Accepted{ID: "1", TurnID: "t", SessionID: "s", Duplicate: true},
		Turn{TurnID: "t", SessionID: "s", Status: TurnFailed, Error: &Problem{Code: "c", Message: "m"}, Usage: &chat.Usage{PromptTokens: 1}, Steps: 2},
		Delta{TurnID: "t", Step: 1, Attempt: 2, Kind: "text", Text: "<b>&"},
		Tool{TurnID: "t", Step: 1, CallID: "c", Name: "bash", Status: "started", Summary: "bash: ls"},
		Message{SessionID: "s", Seq: 3, TurnID: "t", Role: chat.RoleAssistant, Content: "x", ToolCalls: []chat.ToolCall{chat.NewToolCall("c", "bash", "{}")}, CreatedAt: 5},
		Notice{ID: "n", Level: "message", Text: "hi", JobID: "j"},
		Command{ID: "1", Name: "help", OK: true, Text: "x", Data: json.RawMessage(`{"a":1}`)},
		Error{ID: "1", Code: CodeBadFrame, Message: "m"},
		Pong{},
	}
}

func TestServerFramesSurviveTheWire(t *testing.T) {
	for _, f := range everyServerFrame() {
		b := Encode(f)
		var head map[string]any
		require.NoError(t, json.Unmarshal(b, &head), "%s", b)
		require.Equal(t, f.frameType(), head["type"])
		got, err := DecodeServer(b)
		require.NoError(t, err)
		require.Equal(t, f, got)
	}
}

func TestClientFramesSurviveTheWire(t *testing.T) {
	n := int64(3)
	for _, f := range []ClientFrame{
		Hello{ClientID: "c", ChatID: "d", SenderID: "e", SessionID: "s", FromSeq: &n, Agent: "a", Locale: "en"},
		UserMessage{ID: "1", Content: "x", Media: []Media{{Type: "image", Path: "a.png"}}},
		Attach{SessionID: "s", FromSeq: &n}, Cancel{TurnID: "t"}, Cancel{}, Ping{},
	} {
		got, err := Decode(EncodeClient(f))
		require.Nil(t, err)
		require.Equal(t, f, got)
	}
}

func TestEncodeWritesExactly(t *testing.T) {
	require.Equal(t, `{"type":"pong"}`, string(Encode(Pong{})))
	require.Equal(t, `{"type":"accepted","id":"1","turn_id":"","session_id":"s","duplicate":false}`, string(Encode(Accepted{ID: "1", SessionID: "s"})))
	require.Equal(t, `{"type":"delta","turn_id":"","step":0,"attempt":0,"kind":"text","text":"<b>&"}`, string(Encode(Delta{Kind: "text", Text: "<b>&"})))
}

func TestEncodeOfWhatCannotBeWrittenIsAnError(t *testing.T) {
	got, err := DecodeServer(Encode(Command{ID: "1", Data: json.RawMessage(`{`)}))
	require.NoError(t, err)
	require.Equal(t, CodeInternal, got.(Error).Code)
}

func TestClientsSkipWhatTheyDoNotKnow(t *testing.T) {
	got, err := DecodeServer([]byte(`{"type":"later","x":1}`))
	require.NoError(t, err)
	require.Nil(t, got)
	_, err = DecodeServer([]byte(`no JSON`))
	require.Error(t, err)
	_, err = DecodeServer([]byte(`{"type":"turn","steps":"x"}`))
	require.Error(t, err)
}
