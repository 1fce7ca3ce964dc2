package feishu

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
	"github.com/stretchr/testify/require"

	"picobot/internal/testkit/fakefeishu"
)

// Feishu says in the handshake what is wrong: some of it waits for somebody to change something.
func TestConnection_HandshakeThatIsRefused_SaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		fault fakefeishu.Fault
		state string
		log   string
	}{
		"forbidden":            {fakefeishu.Fault{Status: 403, Code: 1, Header: http.Header{"Handshake-Status": {"403"}, "Handshake-Msg": {"the app is disabled"}}}, Failing, "the app is disabled"},
		"too many connections": {fakefeishu.Fault{Status: 400, Code: 1, Header: http.Header{"Handshake-Status": {"514"}, "Handshake-Autherrcode": {"1000040350"}, "Handshake-Msg": {"exceed conn limit"}}}, Failing, "exceed conn limit"},
		"for now":              {fakefeishu.Fault{Status: 502, HTML: true}, Connecting, "502"},
		"it is cut off":        {fakefeishu.Fault{Drop: true}, Connecting, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, fakefeishu.Config{}, nil)
			c.fault.Method, c.fault.Path, c.fault.Times = http.MethodGet, "/ws", -1
			r.feishu.Arrange(c.fault)
			r.run()
			r.eventually("it was tried twice", func() bool { return len(r.feishu.Calls(http.MethodGet, "/ws")) > 1 })
			require.Equal(t, c.state, r.channel.Status())
			require.Contains(t, r.logs.String(), c.log)
			r.feishu.Repair()
			r.hears("oc_p")
		})
	}
}

// Feishu's own addresses are of TLS.
func TestConnection_OverTLS_HearsAndIsMadeAnew(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	plain, err := url.Parse(r.feishu.URL())
	require.NoError(t, err)
	var secure *httptest.Server
	proxy := httputil.NewSingleHostReverseProxy(plain)
	proxy.ModifyResponse = func(resp *http.Response) error {
		if !strings.Contains(resp.Request.URL.Path, "/callback/") {
			return nil
		}
		b, err := io.ReadAll(resp.Body)
		b = bytes.ReplaceAll(b, []byte("ws://"+plain.Host), []byte("wss"+strings.TrimPrefix(secure.URL, "https")))
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
		resp.Header.Set("Content-Length", strconv.Itoa(len(b)))
		return err
	}
	secure = httptest.NewTLSServer(proxy)
	t.Cleanup(secure.Close)
	o := r.app.opts
	o.Domain = secure.URL
	r.app = New(o)
	r.app.tls = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	r.app.api.http.Transport = secure.Client().Transport
	r.run()
	r.eventually("it was tried", func() bool { return strings.Contains(r.logs.String(), "unknown authority") })
	_, ever := r.feishu.Connections()
	require.Zero(t, ever, "a server that nobody vouches for is not talked to")
	r.stop()

	r.app = New(o)
	r.app.tls = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	r.app.tls.RootCAs.AddCert(secure.Certificate())
	r.app.api.http.Transport = secure.Client().Transport
	r.start()
	r.hears("oc_1")
	r.feishu.Drop()
	r.hears("oc_2")
	r.stop()
}

// frameOf is a part of an event as Feishu sends it.
func frameOf(t interface{ Fatal(...any) }, id string, sum, seq int, payload string) []byte {
	f := larkws.Frame{Method: int32(larkws.FrameTypeData), Payload: []byte(payload), Headers: []larkws.Header{
		{Key: "type", Value: "event"}, {Key: "message_id", Value: id}, {Key: "sum", Value: strconv.Itoa(sum)}, {Key: "seq", Value: strconv.Itoa(seq)},
	}}
	b, err := f.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSorter_EventsInParts_AreJudgedOnceTheyAreWhole(t *testing.T) {
	s := newSorter()
	for event, known := range map[string]bool{`{"header":{"event_type":"im.message.receive_v1"}}`: true, `{"header":{"event_type":"im.chat.updated_v1"}}`: false} {
		id := strconv.FormatBool(known)
		first, last := frameOf(t, id, 2, 0, event[:20]), frameOf(t, id, 2, 1, event[20:])
		on, ack, _ := s.sort(last)
		require.Empty(t, on)
		require.Empty(t, ack)
		on, ack, _ = s.sort(last) // again
		require.Empty(t, on)
		require.Empty(t, ack)
		on, ack, why := s.sort(first)
		if known {
			require.Equal(t, [][]byte{first, last}, on)
			require.Empty(t, ack)
			continue
		}
		require.Empty(t, on)
		require.Contains(t, why, "im.chat.updated_v1")
		var f larkws.Frame
		require.NoError(t, f.Unmarshal(ack))
		require.Equal(t, id, larkws.Headers(f.Headers).GetString("message_id"))
		require.JSONEq(t, `{"code":200,"headers":null,"data":null}`, string(f.Payload))
	}
	require.Empty(t, s.parts)
	for i := range 10 * maxEvents { // ends that never come
		s.sort(frameOf(t, strconv.Itoa(i), 2, 0, "{"))
	}
	require.LessOrEqual(t, len(s.parts), maxEvents)
}

// Whatever comes in, nothing breaks, and only an event is acknowledged.
func FuzzSorter(f *testing.F) {
	f.Add(frameOf(f, "a", 1, 0, `{"header":{"event_type":"im.message.receive_v1"},"event":{}}`), []byte{})
	f.Add(frameOf(f, "a", 1, 0, `{`), frameOf(f, "a", 2, 7, `{`))
	f.Add(frameOf(f, "a", 1<<30, 0, `{`), frameOf(f, "a", 3, -1, `{`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		s := newSorter()
		for _, raw := range [][]byte{a, b, a} {
			on, ack, why := s.sort(raw)
			if (ack == nil) != (why == "") || (ack != nil && on != nil) {
				t.Fatalf("%q: %q %q %q", raw, on, ack, why)
			}
			var frame larkws.Frame
			if ack != nil && frame.Unmarshal(ack) != nil {
				t.Fatalf("%q is no frame", ack)
			}
		}
	})
}

// What the SDK says waits for Feishu to take it, and Feishu says nothing and takes
// nothing any more.
func TestRelay_FeishuTakesNothing_TheEndOfTheConnectionEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := &line{}
	l := &link{ctx: ctx, cancel: cancel}
	n.link.Store(l)
	taken := make(chan *websocket.Conn, 1)
	between := &relay{line: n, dialer: &websocket.Dialer{NetDialContext: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			from := bufio.NewReader(far)
			req, err := http.ReadRequest(from)
			if err != nil {
				return
			}
			if c, err := (&websocket.Upgrader{}).Upgrade(&pipeWriter{far, from, http.Header{}}, req, nil); err == nil {
				taken <- c
			}
		}()
		return near, nil
	}}}
	sdk, _, err := (&websocket.Dialer{NetDialContext: between.dial("ws")}).DialContext(ctx, "ws://feishu/ws", nil)
	require.NoError(t, err)
	feishu := <-taken
	defer feishu.Close()
	require.NoError(t, sdk.WriteMessage(websocket.BinaryMessage, []byte("an acknowledgement")))
	cancel()
	ended := make(chan struct{})
	go func() { l.relays.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("it waits for Feishu to take what was said")
	}
}
