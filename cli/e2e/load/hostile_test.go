package load

import (
	"bytes"
	"compress/flate"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"

	"picobot/internal/protocol"
)

// limit is gateway.max_message_bytes here.
const limit = 64 << 10

// maxFrame is more than any frame may have: there is room for what stands around a
// message's content.
const maxFrame = limit + 128<<10

func smallMessages() map[string]any {
	return map[string]any{"gateway": map[string]any{"addr": "127.0.0.1:0", "max_message_bytes": limit}}
}

// A frame that is wrong is answered with an error, and the connection goes on.
func TestFramesThatAreWrongAreAnsweredAndTheConnectionLives(t *testing.T) {
	t.Parallel()
	r := start(t, smallMessages())
	hello := func(fields string) string { return `{"type":"hello","client_id":"x",` + fields + `}` }
	for name, tt := range map[string]struct{ frame, code string }{
		"nothing":                    {"", protocol.CodeBadFrame},
		"a nul byte":                 {"\x00", protocol.CodeBadFrame},
		"nul bytes around":           {"\x00" + `{"type":"ping"}` + "\x00", protocol.CodeBadFrame},
		"nul in the type":            {`{"type":"ping\u0000"}`, protocol.CodeBadFrame},
		"nul in an id":               {`{"type":"message","id":"a\u0000b","content":"x"}`, protocol.CodeBadFrame},
		"a byte order mark":          {"\ufeff" + `{"type":"ping"}`, protocol.CodeBadFrame},
		"no UTF-8":                   {"{\"type\":\"message\",\"id\":\"1\",\"content\":\"\xc3\x28\"}", protocol.CodeBadFrame},
		"an overlong slash":          {"{\"type\":\"message\",\"id\":\"1\",\"content\":\"\xc0\xaf\"}", protocol.CodeBadFrame},
		"half an object":             {`{"type":"message","id":"1","content":"x`, protocol.CodeBadFrame},
		"two objects":                {`{"type":"ping"} {"type":"ping"}`, protocol.CodeBadFrame},
		"a trailing comma":           {`{"type":"ping",}`, protocol.CodeBadFrame},
		"a number without end":       {`{"type":"attach","session_id":"s","from_seq":` + strings.Repeat("9", 50_000) + `}`, protocol.CodeBadFrame},
		"a great exponent":           {`{"type":"attach","session_id":"s","from_seq":1e999999999}`, protocol.CodeBadFrame},
		"not a number":               {`{"type":"attach","session_id":"s","from_seq":NaN}`, protocol.CodeBadFrame},
		"objects in objects":         {strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000), protocol.CodeBadFrame},
		"lists in lists":             {`{"type":"ping","a":` + strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000) + "}", protocol.CodeBadFrame},
		"lists without end":          {strings.Repeat("[", limit), protocol.CodeBadFrame},
		"a type of another kind":     {`{"type":{"type":"ping"}}`, protocol.CodeBadFrame},
		"the same key twice":         {`{"type":"ping","type":"nothing"}`, protocol.CodeUnknownType}, // the last one counts
		"content twice":              {`{"type":"message","id":"1","content":"x","content":7}`, protocol.CodeBadFrame},
		"a long type":                {`{"type":"` + x(10_000) + `"}`, protocol.CodeBadFrame},
		"an unknown type":            {`{"type":"sudo"}`, protocol.CodeUnknownType},
		"a frame of the server":      {`{"type":"welcome","session_id":"s"}`, protocol.CodeUnknownType},
		"a long id":                  {`{"type":"message","id":"` + x(257) + `","content":"x"}`, protocol.CodeBadFrame},
		"an id that is a list":       {`{"type":"message","id":["1"],"content":"x"}`, protocol.CodeBadFrame},
		"content that is an object":  {`{"type":"message","id":"1","content":{}}`, protocol.CodeBadFrame},
		"content that is empty":      {`{"type":"message","id":"1","content":" \n\t "}`, protocol.CodeBadFrame},
		"a session with a long name": {`{"type":"attach","session_id":"` + x(10_000) + `"}`, protocol.CodeBadFrame},
		"a session that is a path":   {`{"type":"attach","session_id":"../../etc/passwd"}`, protocol.CodeNotFound},
		"a session that is SQL":      {`{"type":"attach","session_id":"'; DROP TABLE messages; --"}`, protocol.CodeNotFound},
		"a turn that is a wildcard":  {`{"type":"cancel","turn_id":"%"}`, protocol.CodeNotFound},
		"a second hello":             {`{"type":"hello","client_id":"x"}`, protocol.CodeBadFrame},
		"a chat with a long name":    {hello(`"chat_id":"` + x(257) + `"`), protocol.CodeBadFrame},
		"a sender with a line break": {hello(`"sender_id":"a\nb"`), protocol.CodeBadFrame},
		"media of another kind":      {`{"type":"message","id":"1","content":"x","media":"y"}`, protocol.CodeBadFrame},
		"media without end":          {`{"type":"message","id":"1","content":"x","media":[` + strings.Repeat("{},", 20_000) + `{}]}`, protocol.CodeBadFrame},
		"media of a file":            {`{"type":"message","id":"1","content":"x","media":[{"type":"image","url":"file:///etc/passwd"}]}`, protocol.CodeBadMedia},
		"media that is no picture":   {`{"type":"message","id":"1","content":"x","media":[{"type":"image","data":"AAAA"}]}`, protocol.CodeBadMedia},
		"keys without end":           {"{" + manyKeys(8_000) + `"type":"sudo"}`, protocol.CodeUnknownType},
	} {
		t.Run(name, func(t *testing.T) {
			c := r.must(r.dial(t.Context(), protocol.Hello{ClientID: "wrong"}))
			defer c.drop()
			if err := c.writeRaw(websocket.MessageText, []byte(tt.frame)); err != nil {
				t.Fatal(err)
			}
			if err := c.until("there is an error", func() bool { return len(c.errors) > 0 }); err != nil {
				t.Fatal(err)
			}
			if e := c.errors[0]; e.Code != tt.code || e.Message == "" || len(e.Message) > 1000 {
				t.Errorf("got %s: %.2000s", e.Code, e.Message)
			}
			if err := c.write(protocol.Ping{}); err != nil {
				t.Fatal(err)
			}
			for {
				f, err := c.next()
				if err != nil {
					t.Fatalf("the connection did not live: %v", err)
				}
				if _, ok := f.(protocol.Pong); ok {
					break
				}
			}
		})
	}
	r.report("after wrong frames")
	r.well()
	if n := r.h.Record(`SELECT count(*) FROM inbound_messages`); n[0] != "1" { // of well
		t.Errorf("%s messages were written down", n[0])
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%d":0,`, i)
	}
	return b.String()
}

// What is no WebSocket frame ends its connection and no other.
func TestPeersThatBreakTheWebSocketProtocolAreClosed(t *testing.T) {
	t.Parallel()
	r := start(t, smallMessages())
	bystander := r.must(r.dial(t.Context(), protocol.Hello{ClientID: "bystander"}))
	said := protocol.EncodeClient(protocol.UserMessage{ID: "1", Content: "calc 1+1"})
	for name, tt := range map[string]struct {
		bytes []byte
		code  websocket.StatusCode // -1 = none needs to come
	}{
		"not masked":               {append(head(fin|text, uint64(len(said)), false), said...), -1},
		"a kind that is reserved":  {masked(fin|0x3, said), websocket.StatusProtocolError},
		"a control kind of nobody": {masked(fin|0xb, nil), websocket.StatusProtocolError},
		"compressed":               {masked(fin|reserved1|text, bomb(8*mib)), websocket.StatusProtocolError},
		"reserved bits":            {masked(fin|0x30|text, said), websocket.StatusProtocolError},
		"the rest of nothing":      {masked(fin|contd, said), websocket.StatusProtocolError},
		"a message in a message":   {append(masked(text, said[:5]), masked(fin|text, said)...), websocket.StatusProtocolError},
		"a long ping":              {masked(fin|ping, make([]byte, longest+1)), websocket.StatusProtocolError},
		"half a ping":              {masked(ping, []byte("x")), websocket.StatusProtocolError},
		"a close of one byte":      {masked(fin|closing, []byte{3}), websocket.StatusProtocolError},
		"a close of no code":       {masked(fin|closing, []byte{0, 1}), websocket.StatusProtocolError},
		"a length below zero":      {append(head(fin|text, 1<<63, true), 1, 2, 3, 4), -1},
		"HTTP":                     {[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), -1},
		"noise":                    {bytes.Repeat([]byte{0xff}, 10_000), -1},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := r.upgraded("hostile")
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.send(tt.bytes); err != nil {
				t.Fatal(err)
			}
			for {
				f, code, err := c.next()
				if err != nil {
					t.Fatal(err)
				}
				if f != nil {
					continue
				}
				if tt.code != -1 && code != tt.code {
					t.Errorf("closed with %d, not %d", code, tt.code)
				}
				return
			}
		})
	}
	if _, err := bystander.ask("calc 1+1"); err != nil {
		t.Errorf("the bystander: %v", err)
	}
	r.report("after broken frames")
	r.well()
	if n := r.h.Record(`SELECT count(*) FROM inbound_messages`); n[0] != "2" { // of the bystander and of well
		t.Errorf("%s messages were written down", n[0])
	}
}

// bomb is what n bytes are when they are compressed.
func bomb(n int) []byte {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestCompression)
	_, _ = w.Write(make([]byte, n))
	_ = w.Flush()
	return bytes.TrimSuffix(b.Bytes(), []byte{0, 0, 0xff, 0xff})
}

func TestFramesThatAreTooLargeAreToldAndClosed(t *testing.T) {
	t.Parallel()
	r := start(t, smallMessages())
	tooLarge := func(t *testing.T, send func(c *raw) error) {
		t.Helper()
		c, err := r.upgraded("large")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var sending errgroup.Group
		sending.Go(func() error { _ = send(c); return nil }) // it may be cut off at any moment
		told := false
		for {
			f, code, err := c.next()
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := f.(protocol.Error); ok {
				told = e.Code == protocol.CodeTooLarge && strings.Contains(e.Message, "max_message_bytes")
			}
			if f == nil {
				if !told || code != websocket.StatusMessageTooBig {
					t.Errorf("closed with %d, told: %v", code, told)
				}
				break
			}
		}
		_ = c.Close()
		_ = sending.Wait()
	}
	t.Run("a message just above the limit", func(t *testing.T) {
		tooLarge(t, func(c *raw) error {
			return c.frame(fin|text, protocol.EncodeClient(protocol.UserMessage{ID: "1", Content: x(limit + 1)}))
		})
	})
	t.Run("a large frame", func(t *testing.T) {
		tooLarge(t, func(c *raw) error { return c.frame(fin|text, []byte(x(maxFrame))) })
	})
	t.Run("a large binary frame", func(t *testing.T) {
		tooLarge(t, func(c *raw) error { return c.frame(fin|binaryData, []byte(x(maxFrame))) })
	})
	t.Run("a frame that claims to be as large as can be", func(t *testing.T) {
		tooLarge(t, func(c *raw) error {
			if err := c.send(append(head(fin|text, 1<<63-1, true), 0, 0, 0, 0)); err != nil {
				return err
			}
			return c.send([]byte(x(maxFrame)))
		})
	})
	t.Run("small pieces without end", func(t *testing.T) {
		tooLarge(t, func(c *raw) error {
			if err := c.frame(text, []byte("{")); err != nil {
				return err
			}
			for range maxFrame / 64 {
				if err := c.frame(contd, []byte(x(64))); err != nil {
					return err
				}
			}
			return nil
		})
	})
	t.Run("a message at the limit is taken", func(t *testing.T) {
		c := r.must(r.dial(t.Context(), protocol.Hello{ClientID: "fits"}))
		defer c.drop()
		if _, err := c.ask(x(limit)); err != nil {
			t.Error(err)
		}
	})
	r.report("after large frames")
	r.well()
}

// Floods of frames that are cheap to send: each peer is answered or closed, and a
// turn of somebody else does not wait for them.
func TestFloodsOfTinyFramesHoldUpNobody(t *testing.T) {
	t.Parallel()
	r := start(t, smallMessages())
	const peers, frames = 2, 5_000
	many := func(first byte, payload string) []byte { return bytes.Repeat(masked(first, []byte(payload)), frames) }
	floods := map[string][]byte{
		"pings":         many(fin|ping, x(longest)),
		"pongs":         many(fin|pong, x(longest)),
		"ping frames":   many(fin|text, `{"type":"ping"}`),
		"nothing":       many(fin|text, ``),
		"wrong frames":  many(fin|binaryData, "x"),
		"unknown":       many(fin|text, `{"type":"x"}`),
		"attaches":      many(fin|text, `{"type":"attach","session_id":"none"}`),
		"commands":      many(fin|text, `{"type":"message","id":"1","content":"/help"}`),
		"empty pieces":  slices.Concat(masked(text, nil), many(contd, ""), masked(fin|contd, []byte(`{"type":"ping"}`))),
		"single bytes":  slices.Concat(masked(text, nil), many(contd, " "), masked(fin|contd, []byte(`{"type":"ping"}`))),
		"another hello": many(fin|text, `{"type":"hello","client_id":"x"}`),
	}
	var g errgroup.Group
	for name, flood := range floods {
		for i := range peers {
			g.Go(func() error {
				c, err := r.upgraded(fmt.Sprintf("%s %d", name, i))
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				defer c.Close()
				if i%2 == 1 { // and does not even read the answers
					_ = c.SetWriteDeadline(time.Now().Add(2 * time.Second))
					_, _ = c.Write(flood)
					return nil
				}
				var sending errgroup.Group
				sending.Go(func() error { return c.send(slices.Concat(flood, masked(fin|text, []byte(`{"type":"dance"}`)))) })
				for {
					f, code, err := c.next()
					if err != nil || f == nil {
						_ = c.Close()
						return fmt.Errorf("%s: closed with %d: %w", name, code, err)
					}
					if e, ok := f.(protocol.Error); ok && strings.Contains(e.Message, `"dance"`) {
						return sending.Wait()
					}
				}
			})
		}
	}
	quick := r.must(r.dial(t.Context(), protocol.Hello{ClientID: "quick"}))
	var took []time.Duration
	for i := range 5 {
		d, err := quick.ask(fmt.Sprintf("calc %d+1", i))
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, d)
	}
	t.Logf("turns of a bystander took %s", took)
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	r.report("after floods of tiny frames")
	r.well()
}
