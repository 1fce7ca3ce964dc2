package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/protocol"
)

func TestSend_WithAnImage_SendsItAgainToo(t *testing.T) {
	f := newFake(t)
	sent := make(chan []protocol.Media, 8)
	f.onMessage = func(conn int, m protocol.UserMessage) bool { sent <- m.Media; return conn < 2 }
	tk := f.talk(t, nil)
	image := protocol.Media{Type: "image", MIME: "image/png", Data: "AA=="}
	o, err := tk.Send("look", image)(t.Context())
	require.NoError(t, err)
	require.Equal(t, "re: look", o.Reply)
	require.Equal(t, []protocol.Media{image}, <-sent)
	require.Equal(t, []protocol.Media{image}, <-sent)
}
