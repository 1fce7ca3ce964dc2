package protocol

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func seq(n int64) *int64 { return &n }

func TestDecodeReadsEveryFrame(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		want ClientFrame
	}{
		"hello fills in chat and sender": {`{"type":"hello","client_id":"c"}`,
			Hello{ClientID: "c", ChatID: "c", SenderID: "c"}},
		"sender defaults to the chat": {`{"type":"hello","client_id":"c","chat_id":"room"}`,
			Hello{ClientID: "c", ChatID: "room", SenderID: "room"}},
		"hello with everything": {`{"type":"hello","client_id":"c","chat_id":"d","sender_id":"e","session_id":"cli:d:1","from_seq":7,"agent":"a","locale":"zh-CN"}`,
			Hello{ClientID: "c", ChatID: "d", SenderID: "e", SessionID: "cli:d:1", FromSeq: seq(7), Agent: "a", Locale: "zh-CN"}},
		"hello that follows its chat": {`{"type":"hello","client_id":"c","session_id":"s","follow":true}`,
			Hello{ClientID: "c", ChatID: "c", SenderID: "c", SessionID: "s", Follow: true}},
		"from_seq 0 is not the same as none": {`{"type":"attach","session_id":"s","from_seq":0}`,
			Attach{SessionID: "s", FromSeq: seq(0)}},
		"null is as good as nothing": {`{"type":"attach","session_id":"s","from_seq":null}`, Attach{SessionID: "s"}},
		"message":                    {`{"type":"message","id":"1","content":"héllo"}`, UserMessage{ID: "1", Content: "héllo"}},
		"message with media": {`{"type":"message","id":"1","content":"","media":[{"type":"image","url":"https://x/y.png","mime":"image/png"},{"type":"image","data":"AA=="}]}`,
			UserMessage{ID: "1", Media: []Media{{Type: "image", URL: "https://x/y.png", MIME: "image/png"}, {Type: "image", Data: "AA=="}}}},
		"an empty list of media is none": {`{"type":"message","id":"1","content":"a","media":[]}`, UserMessage{ID: "1", Content: "a"}},
		"content may have line breaks":   {`{"type":"message","id":"1","content":"a\nb"}`, UserMessage{ID: "1", Content: "a\nb"}},
		"cancel":                         {`{"type":"cancel"}`, Cancel{}},
		"cancel of a turn":               {`{"type":"cancel","turn_id":"t"}`, Cancel{TurnID: "t"}},
		"ping":                           {`{"type":"ping"}`, Ping{}},
		"extra keys are ignored":         {`{"type":"ping","later":{"a":[1]}}`, Ping{}},
		"keys in another case are other keys": {`{"type":"message","id":"1","content":"a","CONTENT":"b","ID":5}`,
			UserMessage{ID: "1", Content: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode([]byte(tt.in))
			require.Nil(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestDecodeRefusesBadFrames(t *testing.T) {
	long := strings.Repeat("x", MaxID+1)
	for name, tt := range map[string]struct{ in, code, id string }{
		"nothing":                  {``, CodeBadFrame, ""},
		"no JSON":                  {`hello`, CodeBadFrame, ""},
		"half an object":           {`{"type":"ping"`, CodeBadFrame, ""},
		"two objects":              {`{"type":"ping"}{"type":"ping"}`, CodeBadFrame, ""},
		"a list":                   {`[{"type":"ping"}]`, CodeBadFrame, ""},
		"a string":                 {`"ping"`, CodeBadFrame, ""},
		"null":                     {`null`, CodeBadFrame, ""},
		"no UTF-8":                 {"{\"type\":\"message\",\"id\":\"1\",\"content\":\"\xff\"}", CodeBadFrame, ""},
		"no type":                  {`{"id":"1"}`, CodeBadFrame, ""},
		"type of a wrong type":     {`{"type":1}`, CodeBadFrame, ""},
		"type in another case":     {`{"Type":"ping"}`, CodeBadFrame, ""},
		"unknown type":             {`{"type":"shout","id":"7"}`, CodeUnknownType, "7"},
		"unknown type without id":  {`{"type":"welcome"}`, CodeUnknownType, ""},
		"hello without client":     {`{"type":"hello"}`, CodeBadFrame, ""},
		"hello of nobody":          {`{"type":"hello","client_id":""}`, CodeBadFrame, ""},
		"hello with long client":   {`{"type":"hello","client_id":"` + long + `"}`, CodeBadFrame, ""},
		"hello with long chat":     {`{"type":"hello","client_id":"c","chat_id":"` + long + `"}`, CodeBadFrame, ""},
		"chat with a line break":   {`{"type":"hello","client_id":"c","chat_id":"a\nb"}`, CodeBadFrame, ""},
		"chat with half a rune":    {`{"type":"hello","client_id":"c","chat_id":"\ud800"}`, CodeBadFrame, ""},
		"chat that is a number":    {`{"type":"hello","client_id":"c","chat_id":5}`, CodeBadFrame, ""},
		"follow that is a word":    {`{"type":"hello","client_id":"c","follow":"yes"}`, CodeBadFrame, ""},
		"message without id":       {`{"type":"message","content":"a"}`, CodeBadFrame, ""},
		"message with empty id":    {`{"type":"message","id":"","content":"a"}`, CodeBadFrame, ""},
		"message with long id":     {`{"type":"message","id":"` + long + `","content":"a"}`, CodeBadFrame, ""},
		"message without content":  {`{"type":"message","id":"1"}`, CodeBadFrame, "1"},
		"content null":             {`{"type":"message","id":"1","content":null}`, CodeBadFrame, "1"},
		"content that is a list":   {`{"type":"message","id":"1","content":["a"]}`, CodeBadFrame, "1"},
		"media that is an object":  {`{"type":"message","id":"1","content":"a","media":{}}`, CodeBadFrame, "1"},
		"media of strings":         {`{"type":"message","id":"1","content":"a","media":["x"]}`, CodeBadFrame, "1"},
		"media without type":       {`{"type":"message","id":"1","content":"a","media":[{"url":"http://x"}]}`, CodeBadFrame, "1"},
		"too many media":           {`{"type":"message","id":"1","content":"a","media":[` + strings.Repeat(`{"type":"image"},`, MaxMedia) + `{"type":"image"}]}`, CodeBadFrame, "1"},
		"attach to nothing":        {`{"type":"attach"}`, CodeBadFrame, ""},
		"from_seq below zero":      {`{"type":"attach","session_id":"s","from_seq":-1}`, CodeBadFrame, ""},
		"from_seq with a fraction": {`{"type":"attach","session_id":"s","from_seq":1.5}`, CodeBadFrame, ""},
		"from_seq as a string":     {`{"type":"attach","session_id":"s","from_seq":"1"}`, CodeBadFrame, ""},
		"from_seq out of range":    {`{"type":"attach","session_id":"s","from_seq":99999999999999999999}`, CodeBadFrame, ""},
		"cancel of a number":       {`{"type":"cancel","turn_id":1}`, CodeBadFrame, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode([]byte(tt.in))
			require.Nil(t, got)
			require.NotNil(t, err)
			require.Equal(t, tt.code, err.Code, err.Message)
			require.Equal(t, tt.id, err.ID)
			require.NotEmpty(t, err.Message)
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"type":"hello","client_id":"c","from_seq":3}`, `{"type":"message","id":"1","content":"a","media":[{"type":"image","data":"AA=="}]}`,
		`{"type":"attach","session_id":"s"}`, `{"type":"cancel"}`, `{"type":"ping"}`, `{"type":"x"}`, `[]`, `{"type":"message","id":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := Decode(b)
		if (frame == nil) == (err == nil) {
			t.Fatalf("want a frame or an error, got %v and %v", frame, err)
		}
		if err != nil {
			if err.Code != CodeBadFrame && err.Code != CodeUnknownType {
				t.Fatalf("unexpected code %q", err.Code)
			}
			return
		}
		again, err := Decode(EncodeClient(frame))
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		require.Equal(t, frame, again)
	})
}

func FuzzDecodeServer(f *testing.F) {
	for _, frame := range everyServerFrame() {
		f.Add(Encode(frame))
	}
	f.Add([]byte(`{"type":"later","x":1}`))
	f.Add([]byte(`{"type":"command","data":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := DecodeServer(b)
		if err != nil || frame == nil {
			return
		}
		if _, err := DecodeServer(Encode(frame)); err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
	})
}
