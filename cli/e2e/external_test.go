package e2e

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"picobot/internal/protocol"
	"picobot/internal/testkit/harness"
)

// secured is a TLS entrance to a server that has none.
func secured(t *testing.T, to string) (addr, ca string) {
	t.Helper()
	fake := httptest.NewTLSServer(nil) // for its certificate, which is for example.com
	cert := fake.TLS.Certificates[0]
	ca = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}))
	fake.Close()
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = in.Close() }()
				out, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
				_, _ = io.Copy(in, out)
			}()
		}
	}()
	return ln.Addr().String(), ca
}

// A Temporal, two workers and a gateway as processes of their own, with TLS, a key and
// a namespace. Each of them is killed in turn.
func TestExternalTemporal_EachProcessKilledInTurn_EverythingIsAnsweredOnce(t *testing.T) {
	elsewhere, h := harness.New(t), harness.New(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	plain := ln.Addr().String()
	_ = ln.Close()
	addr, ca := secured(t, plain)
	caFile := filepath.Join(t.TempDir(), "ca.pem")
	h.WriteFile(caFile, ca)
	elsewhere.Configure(map[string]any{"temporal": map[string]any{"address": plain, "ui_addr": "127.0.0.1:0", "namespace": "team", "api_key": "let-me-in-0123456789"}})
	h.Configure(map[string]any{"temporal": map[string]any{
		"mode": "external", "address": addr, "namespace": "team", "api_key": "let-me-in-0123456789",
		"tls": map[string]any{"enabled": true, "ca_file": caFile, "server_name": "example.com"},
	}})
	start := func(h *harness.Harness, command string) *harness.Process {
		p := h.Start(command)
		h.Eventually(command+" is up", func() bool { return len(p.Stdout.Lines()) > 0 })
		return p
	}
	temporal := start(elsewhere, "temporal")
	workers := []*harness.Process{start(h, "worker"), start(h, "worker")}
	g := h.StartGateway()
	done := 0
	ask := func(id string) {
		t.Helper()
		ws := g.WS(t)
		defer ws.Drop()
		ws.Hello(protocol.Hello{ClientID: "a"})
		ws.Send(id, "calc 6*7")
		done++
		h.Eventually(id+" is answered", func() bool {
			return len(h.Record(`SELECT 1 FROM turns WHERE status = 'completed'`)) == done
		})
	}
	ask("all of them up")
	for i := range workers {
		workers[i].Kill9()
		ask([]string{"the first worker was killed", "the second worker was killed"}[i])
		workers[i] = start(h, "worker")
	}
	temporal.Kill9()
	ws := g.WS(t)
	ws.Hello(protocol.Hello{ClientID: "a"})
	if a := ws.Send("without temporal", "calc 6*7"); a.TurnID == "" {
		t.Errorf("accepted all the same: %+v", a)
	}
	temporal = start(elsewhere, "temporal")
	done++
	h.Eventually("it is answered once temporal is back", func() bool { return len(h.Record(`SELECT 1 FROM turns WHERE status = 'completed'`)) == done })
	g.Kill9()
	g = h.StartGateway()
	ask("another gateway")
	same(t, "answers", h.Record(`SELECT DISTINCT content FROM messages WHERE role = 'assistant' AND tool_calls IS NULL`), "calculator: 42")
	same(t, "one for each", h.Record(`SELECT count(*) = (SELECT count(*) FROM turns) FROM messages WHERE role = 'assistant' AND tool_calls IS NULL`), "1")
	same(t, "soundness", h.Unsound())
	if r := h.Run("doctor"); !strings.Contains(r.Stdout, "ok    temporal") {
		t.Errorf("%s", r.Stdout)
	}
	g.Stop()
	for _, p := range append(workers, temporal) {
		p.Stop()
	}
}
