package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

func TestRequestsThatAreWrongGetAnAnswerThatSaysSo(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	host := "Host: " + strings.TrimPrefix(r.g.URL, "http://") + "\r\n"
	known := host + "Authorization: Bearer " + r.token + "\r\n"
	for name, tt := range map[string]struct {
		request string
		status  int
	}{
		"no HTTP":                        {"hello\r\n\r\n", 400},
		"noise":                          {strings.Repeat("\x00\xff", 500) + "\r\n\r\n", 400},
		"TLS":                            {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400},
		"no host":                        {"GET /health HTTP/1.1\r\n\r\n", 400},
		"two hosts":                      {"GET /health HTTP/1.1\r\n" + host + host + "\r\n", 400},
		"a header with a line break":     {"GET /health HTTP/1.1\r\n" + host + "X: a\rb\r\n\r\n", 400},
		"a version of the future":        {"GET /health HTTP/9.9\r\n" + host + "\r\n", 505},
		"large headers":                  {"GET /health HTTP/1.1\r\n" + host + "X: " + x(200<<10) + "\r\n\r\n", 431},
		"many headers":                   {"GET /health HTTP/1.1\r\n" + host + strings.Repeat("X: y\r\n", 40_000) + "\r\n", 431},
		"a long path":                    {"GET /" + x(60<<10) + " HTTP/1.1\r\n" + known + "\r\n", 404},
		"a path out of here":             {"GET /../../etc/passwd HTTP/1.1\r\n" + known + "\r\n", 404},
		"a method of nobody":             {"DANCE /api/v1/turns HTTP/1.1\r\n" + known + "\r\n", 405},
		"a method that deletes":          {"DELETE /api/v1/sessions HTTP/1.1\r\n" + known + "\r\n", 405},
		"a proxy's request":              {"CONNECT example.org:443 HTTP/1.1\r\n" + host + "\r\n", 403},
		"a large body for nobody":        {"POST /api/v1/turns/none/stop HTTP/1.1\r\n" + known + "Content-Length: 1099511627776\r\n\r\n" + x(mib), 404},
		"a body without end":             {"POST /api/v1/turns/none/stop HTTP/1.1\r\n" + known + "Transfer-Encoding: chunked\r\n\r\n100000\r\n" + x(mib), 404},
		"a body of two lengths":          {"POST /api/v1/turns/none/stop HTTP/1.1\r\n" + known + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400},
		"a length below zero":            {"POST /api/v1/turns/none/stop HTTP/1.1\r\n" + known + "Content-Length: -1\r\n\r\n", 400},
		"a limit that is too large":      {"GET /api/v1/turns?limit=99999999999999999999 HTTP/1.1\r\n" + known + "\r\n", 400},
		"a query that cannot be read":    {"GET /api/v1/turns?status=%zz HTTP/1.1\r\n" + known + "\r\n", 200},
		"a socket without a key":         {"GET /ws HTTP/1.1\r\n" + known + "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n", 400},
		"a socket of another time":       {"GET /ws HTTP/1.1\r\n" + known + "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 7\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n", 400},
		"a socket by another method":     {"POST /ws HTTP/1.1\r\n" + known + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 405},
		"a socket of something else":     {"GET /ws HTTP/1.1\r\n" + known + "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", 426},
		"a socket without a token":       {"GET /ws HTTP/1.1\r\n" + host + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 401},
		"a token that is the wrong one":  {"GET /api/v1/turns HTTP/1.1\r\n" + host + "Authorization: Bearer " + x(10_000) + "\r\n\r\n", 401},
		"a token with nul bytes":         {"GET /api/v1/turns HTTP/1.1\r\n" + host + "Authorization: Bearer \x00\r\n\r\n", 400},
		"a session whose name is binary": {"GET /api/v1/sessions/%00%ff HTTP/1.1\r\n" + known + "\r\n", 404},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := r.tcp()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var sending errgroup.Group
			sending.Go(func() error { _ = c.send([]byte(tt.request)); return nil }) // it may be cut off
			resp, err := c.answer()
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = c.Close()
			_ = sending.Wait()
			if resp.StatusCode != tt.status || err != nil || len(bytes.TrimSpace(body)) == 0 {
				t.Errorf("%s: %.300q, %v", resp.Status, body, err)
			}
			if resp.Header.Get("Content-Type") != "application/json; charset=utf-8" {
				return // net/http or the WebSocket library refused it before it came to the gateway
			}
			var e struct {
				Error struct{ Code, Message string }
			}
			if tt.status >= 400 && (json.Unmarshal(body, &e) != nil || e.Error.Code == "" || e.Error.Message == "") {
				t.Errorf("an error must say what is wrong: %.300q", body)
			}
		})
	}
	r.report("after wrong requests")
	r.well()
}

func TestFloodOfBadTokensIsRefusedAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	const clients, each = 20, 200
	r := start(t, nil)
	before := len(r.g.Stderr.Lines())
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	var g errgroup.Group
	for i := range clients {
		g.Go(func() error {
			for k := range each {
				path := "/api/v1/turns"
				if k%2 == 0 {
					path = "/ws"
				}
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.g.URL+path, nil)
				if err != nil {
					return err
				}
				req.Header.Set("Authorization", fmt.Sprintf("Bearer %d.%d", i, k))
				resp, err := client.Do(req)
				if err != nil {
					return err
				}
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusUnauthorized {
					return fmt.Errorf("%s: %s, %w", path, resp.Status, err)
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		_, err := r.chats(1, 3)[0].ask("and one more")
		return err
	})
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if after := len(r.g.Stderr.Lines()); after-before > 50 {
		t.Errorf("%d lines were logged of %d bad tokens", after-before, clients*each)
	}
	r.report("after bad tokens")
	r.well()
}
