package harness

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Gateway is a running `picobot gateway`.
type Gateway struct {
	*Process
	URL      string // http://host:port
	Temporal string // host:port, "" without an embedded one
	UI       string // http://host:port
}

// StartGateway starts a gateway and waits until it is well.
func (h *Harness) StartGateway(args ...string) *Gateway {
	h.tb.Helper()
	g := &Gateway{Process: h.Start(append([]string{"gateway"}, args...)...)}
	h.Eventually("the gateway prints its address", func() bool {
		if !g.Running() {
			h.tb.Fatalf("the gateway ended: %s", g.Stderr)
		}
		g.readAddresses()
		return g.URL != ""
	})
	h.Eventually("the gateway is well", func() bool {
		if !g.Running() {
			h.tb.Fatalf("the gateway ended: %s", g.Stderr)
		}
		status, health := g.Health()
		return status == http.StatusOK && health["status"] == "ok"
	})
	return g
}

func (g *Gateway) readAddresses() {
	for _, line := range g.Stdout.Lines() {
		name, addr, _ := strings.Cut(line, " ")
		switch name {
		case "gateway":
			g.URL = addr
		case "temporal":
			g.Temporal = addr
		case "ui":
			g.UI = addr
		}
	}
}

// Health asks for /health. The status is 0 while nobody answers.
func (g *Gateway) Health() (int, map[string]any) {
	client := http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get(g.URL + "/health")
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	var health map[string]any
	if json.NewDecoder(resp.Body).Decode(&health) != nil {
		return resp.StatusCode, nil
	}
	return resp.StatusCode, health
}

// Token is what clients of the home present.
func (h *Harness) Token() string {
	h.tb.Helper()
	token, err := os.ReadFile(filepath.Join(h.Home, "gateway.token"))
	if err != nil {
		h.tb.Fatal(err)
	}
	return strings.TrimSpace(string(token))
}

// WS connects to the gateway's WebSocket as a client of the home.
func (g *Gateway) WS(tb testing.TB) *Conn {
	tb.Helper()
	return Dial(tb, g.URL, g.h.Token())
}
