package load

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/coder/websocket"

	"picobot/internal/protocol"
	"picobot/internal/testkit/harness"
)

// raw is a peer that sends what no WebSocket library would.
type raw struct {
	net.Conn
	r *bufio.Reader
}

// The first byte of a WebSocket frame: FIN, three reserved bits, the kind.
const (
	fin        = 0x80
	reserved1  = 0x40 // compressed, where that was agreed on
	contd      = 0x0
	text       = 0x1
	binaryData = 0x2
	closing    = 0x8
	ping       = 0x9
	pong       = 0xa
	longest    = 125 // bytes in a control frame
)

// tcp connects and says nothing.
func (r *rig) tcp() (*raw, error) {
	c, err := (&net.Dialer{Timeout: harness.Patience}).DialContext(r.Context(), "tcp", strings.TrimPrefix(r.g.URL, "http://"))
	if err != nil {
		return nil, err
	}
	r.Cleanup(func() { _ = c.Close() })
	return &raw{c, bufio.NewReader(c)}, nil
}

// handshake is a request for a WebSocket, without the empty line that ends it.
func (r *rig) handshake() string {
	return "GET /ws HTTP/1.1\r\nHost: " + strings.TrimPrefix(r.g.URL, "http://") + "\r\nAuthorization: Bearer " + r.token +
		"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n" +
		"Sec-WebSocket-Extensions: permessage-deflate\r\n"
}

// upgraded is a WebSocket, with the hello said unless chat is "".
func (r *rig) upgraded(chat string) (*raw, error) {
	c, err := r.tcp()
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(c, r.handshake()+"\r\n"); err != nil {
		return nil, err
	}
	resp, err := c.answer()
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, fmt.Errorf("handshake: %s", resp.Status)
	}
	if chat == "" {
		return c, nil
	}
	if err := c.frame(fin|text, protocol.EncodeClient(protocol.Hello{ClientID: chat})); err != nil {
		return nil, err
	}
	for {
		f, _, err := c.next()
		if err != nil {
			return nil, err
		}
		if _, ok := f.(protocol.Welcome); ok {
			return c, nil
		}
	}
}

// answer reads an HTTP answer without its body.
func (c *raw) answer() (*http.Response, error) {
	if err := c.SetReadDeadline(time.Now().Add(harness.Patience)); err != nil {
		return nil, err
	}
	return http.ReadResponse(c.r, nil)
}

// frame sends a frame, masked as a client's must be.
func (c *raw) frame(first byte, payload []byte) error {
	return c.send(masked(first, payload))
}

func (c *raw) send(b []byte) error {
	if err := c.SetWriteDeadline(time.Now().Add(harness.Patience)); err != nil {
		return err
	}
	_, err := c.Write(b)
	return err
}

func masked(first byte, payload []byte) []byte {
	b := head(first, uint64(len(payload)), true)
	var mask [4]byte
	_, _ = rand.Read(mask[:])
	b = append(b, mask[:]...)
	for i, p := range payload {
		b = append(b, p^mask[i%4])
	}
	return b
}

// head is the beginning of a frame that claims to have n bytes.
func head(first byte, n uint64, masked bool) []byte {
	bit := byte(0)
	if masked {
		bit = 0x80
	}
	switch {
	case n < 126:
		return []byte{first, bit | byte(n)}
	case n < 1<<16:
		return binary.BigEndian.AppendUint16([]byte{first, bit | 126}, uint16(n))
	default:
		return binary.BigEndian.AppendUint64([]byte{first, bit | 127}, n)
	}
}

// next returns the next message. Its frame is nil when the gateway has hung up: then
// there is the close code, -1 without one. Control frames other than a close are
// passed over.
func (c *raw) next() (protocol.ServerFrame, websocket.StatusCode, error) {
	if err := c.SetReadDeadline(time.Now().Add(harness.Patience)); err != nil {
		return nil, 0, err
	}
	var message []byte
	for {
		first, payload, err := c.read()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, 0, fmt.Errorf("nothing came: %w", err)
		}
		if err != nil {
			return nil, -1, nil
		}
		switch first & 0xf {
		case closing:
			if len(payload) < 2 {
				return nil, websocket.StatusNoStatusRcvd, nil
			}
			return nil, websocket.StatusCode(binary.BigEndian.Uint16(payload)), nil
		case ping, pong:
			continue
		}
		message = append(message, payload...)
		if first&fin == 0 {
			continue
		}
		f, err := protocol.DecodeServer(message)
		if f == nil && err == nil {
			err = fmt.Errorf("a frame of unknown type: %.200s", message)
		}
		return f, 0, err
	}
}

func (c *raw) read() (first byte, payload []byte, err error) {
	var b [8]byte
	if _, err := io.ReadFull(c.r, b[:2]); err != nil {
		return 0, nil, err
	}
	first = b[0]
	n := uint64(b[1])
	switch n {
	case 126:
		_, err = io.ReadFull(c.r, b[:2])
		n = uint64(binary.BigEndian.Uint16(b[:2]))
	case 127:
		_, err = io.ReadFull(c.r, b[:8])
		n = binary.BigEndian.Uint64(b[:8])
	}
	if err != nil {
		return 0, nil, err
	}
	if n > 64*mib {
		return 0, nil, fmt.Errorf("the gateway sent a frame of %d bytes", n)
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(c.r, payload)
	return first, payload, err
}
