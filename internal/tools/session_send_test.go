package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"picobot/internal/tools"
)

// outbox is a transaction that sends, or says why not.
type outbox struct {
	sent [][3]string
	err  error
}

func (o *outbox) Send(channel, chatID, content string) (string, string, error) {
	if o.err != nil {
		return "", "", o.err
	}
	o.sent = append(o.sent, [3]string{channel, chatID, content})
	return "cli", "home", nil
}

func send(t *testing.T, tx any, args map[string]any) tools.Result {
	t.Helper()
	text, err := json.Marshal(args)
	require.NoError(t, err)
	r := registry(t, tools.Options{}, tools.SessionSend())
	require.Equal(t, tools.Record, r.Effect("session_send", `{"content":"x"}`))
	return r.Run(context.Background(), tools.Call{Tx: tx}, "session_send", string(text))
}

func TestSessionSend_SaysWhereItGoes(t *testing.T) {
	out := &outbox{}
	require.Contains(t, requireOK(t, send(t, out, args{"content": "hello"})), `chat "home" of channel "cli"`)
	requireOK(t, send(t, out, args{"content": "你好", "channel": "feishu", "chat_id": "oc_1"}))
	require.Equal(t, [][3]string{{"", "", "hello"}, {"feishu", "oc_1", "你好"}}, out.sent)
}

func TestSessionSend_BadArguments_SendNothing(t *testing.T) {
	for name, a := range map[string]args{
		"empty":    {"content": ""},
		"blank":    {"content": " \n\t"},
		"missing":  {"chat_id": "x"},
		"too long": {"content": strings.Repeat("字", 30_001)},
		"unknown":  {"content": "x", "sender_id": "somebody else"},
	} {
		t.Run(name, func(t *testing.T) {
			out := &outbox{}
			r := send(t, out, a)
			requireError(t, r, "")
			require.Less(t, utf8.RuneCountInString(r.Content), 600, "an argument of any length is not repeated whole")
			require.Empty(t, out.sent)
		})
	}
	out := &outbox{}
	requireOK(t, send(t, out, args{"content": strings.Repeat("字", 30_000)}))
}

func TestSessionSend_Refused_SaysWhoAndWhy(t *testing.T) {
	why := errors.New("not their chat")
	r := send(t, &outbox{err: why}, args{"content": "x", "chat_id": "oc_else"})
	requireError(t, r, "oc_else")
	require.ErrorIs(t, r.Err, why, "the record must be able to tell its own failures apart")
}

func TestSessionSend_WithoutATransaction_SendsNothing(t *testing.T) {
	requireError(t, send(t, nil, args{"content": "x"}), "without a transaction")
}
