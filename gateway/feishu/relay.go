package feishu

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/gorilla/websocket"
)

// relay stands between the SDK and Feishu: the SDK's connection ends here, another one
// goes on to Feishu. It is there for what the SDK refuses (v3.11.0, dispatcher.Do):
// events it has no handler for, or cannot read, would come again and again.
type relay struct {
	channel *Channel
	line    *line
	dialer  *websocket.Dialer // to Feishu
}

// dial returns how the SDK gets a connection whose other end is the relay's.
func (r *relay) dial(scheme string) func(context.Context, string, string) (net.Conn, error) {
	return func(_ context.Context, _, _ string) (net.Conn, error) {
		near, far := net.Pipe()
		l := r.line.link.Load()
		l.relays.Go(func() { r.serve(l, scheme, far) })
		return near, nil
	}
}

// serve makes the connection to Feishu that the SDK asks for, and carries messages until
// one of the two ends.
func (r *relay) serve(l *link, scheme string, far net.Conn) {
	defer far.Close() //nolint:errcheck // there is nobody left to tell
	stop := context.AfterFunc(l.ctx, func() { _ = far.Close() })
	defer stop()
	from := bufio.NewReader(far)
	req, err := http.ReadRequest(from)
	if err != nil {
		return
	}
	feishu, resp, err := r.dialer.DialContext(l.ctx, scheme+"://"+req.Host+req.URL.RequestURI(), nil) //nolint:bodyclose // it holds what was read of it
	if err != nil {
		if resp == nil {
			resp = &http.Response{StatusCode: http.StatusBadGateway, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}}
			resp.Header.Set("Handshake-Msg", strings.Join(strings.Fields(redact(bare(err).Error())), " "))
		}
		_ = resp.Write(far)
		return
	}
	defer feishu.Close() //nolint:errcheck // as above
	defer context.AfterFunc(l.ctx, func() { _ = feishu.Close() })()
	sdk, err := (&websocket.Upgrader{}).Upgrade(&pipeWriter{far, from, http.Header{}}, req, nil)
	if err != nil {
		return
	}
	defer sdk.Close() //nolint:errcheck // as above
	out := &sender{conn: feishu}
	var answers sync.WaitGroup
	defer answers.Wait()
	answers.Go(func() {
		defer feishu.Close() //nolint:errcheck // as above
		for {
			kind, b, err := sdk.ReadMessage()
			if err != nil || out.send(kind, b) != nil {
				return
			}
		}
	})
	r.events(feishu, out, sdk)
	_ = sdk.Close()
}

// events hands on what Feishu says, but for what is nothing to the SDK: that is
// acknowledged here.
func (r *relay) events(feishu *websocket.Conn, out *sender, sdk *websocket.Conn) {
	sorter := newSorter()
	for {
		kind, b, err := feishu.ReadMessage()
		if err != nil {
			if e, ok := errors.AsType[*websocket.CloseError](err); ok && e.Code != websocket.CloseAbnormalClosure && e.Code != websocket.CloseNoStatusReceived {
				_ = sdk.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(e.Code, e.Text))
			}
			return
		}
		on, ack, why := [][]byte{b}, []byte(nil), ""
		if kind == websocket.BinaryMessage {
			on, ack, why = sorter.sort(b)
		}
		if ack != nil {
			r.channel.heard()
			r.channel.log.Debug("an event of feishu's means nothing here", "why", why)
			if out.send(websocket.BinaryMessage, ack) != nil {
				return
			}
		}
		for _, m := range on {
			if sdk.WriteMessage(kind, m) != nil {
				return
			}
		}
	}
}

// sender lets one at a time write to a connection.
type sender struct {
	mu   sync.Mutex
	conn *websocket.Conn
}

func (s *sender) send(kind int, b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn.WriteMessage(kind, b)
}

// pipeWriter lets a handshake be answered over a bare connection.
type pipeWriter struct {
	net.Conn
	from   *bufio.Reader
	header http.Header
}

// Header implements http.ResponseWriter.
func (w *pipeWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter: what is refused is refused by hanging up.
func (w *pipeWriter) WriteHeader(int) {}

// Hijack implements http.Hijacker.
func (w *pipeWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return w.Conn, bufio.NewReadWriter(w.from, bufio.NewWriter(w.Conn)), nil
}
