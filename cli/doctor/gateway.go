package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"picobot/internal/port"
)

// health is what a gateway says of itself.
type health struct {
	Store    string            `json:"store"`
	Temporal string            `json:"temporal"`
	Worker   string            `json:"worker"`
	UIURL    string            `json:"ui_url"`
	Channels map[string]string `json:"channels"`
}

func (e *examination) home(context.Context) {
	e.ok("home", "%s", e.Home.Dir)
}

// runningGateway finds out who owns the home. What a gateway holds open only it can
// judge, so later checks ask it.
func (e *examination) runningGateway(ctx context.Context) {
	owner, alive, err := e.Home.ReadOwner()
	if err != nil {
		e.fail("gateway", "delete "+e.Home.LockFile()+" while no gateway runs", "%v", err)
		return
	}
	switch {
	case !alive:
		e.port(ctx)
		return
	case owner.Address == "":
		e.warn("gateway", "wait a moment and ask again", "process %d (%s) is just starting", owner.PID, owner.Command)
		return
	}
	h, err := e.ask(ctx, "http://"+owner.Address+"/health")
	if err != nil {
		e.fail("gateway", fmt.Sprintf("stop process %d and start it again", owner.PID), "process %d (%s) at %s does not answer: %v", owner.PID, owner.Command, owner.Address, err)
		return
	}
	e.gateway = &h
	if h.Worker != "ok" {
		e.fail("gateway", "see its log", "process %d at %s: its worker says %q", owner.PID, owner.Address, h.Worker)
		return
	}
	e.ok("gateway", "process %d (%s) at %s", owner.PID, owner.Command, owner.Address)
}

// port says that no gateway runs, and whether one could.
func (e *examination) port(ctx context.Context) {
	l, err := port.Listen(ctx, e.Config.Gateway.Addr)
	if taken, ok := errors.AsType[*port.TakenError](err); ok {
		e.fail("gateway", "stop that process, or set gateway.addr to another address", "none runs, and none can start: %v", taken)
		return
	}
	if err != nil {
		e.fail("gateway", "set gateway.addr to an address of this machine", "none runs, and none can start: %v", err)
		return
	}
	_ = l.Close()
	e.warn("gateway", "start one with `picobot gateway`; `picobot agent` starts one by itself", "none runs")
}

// maxHealth bounds what is read of a gateway's answer.
const maxHealth = 64 << 10

func (e *examination) ask(ctx context.Context, url string) (h health, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return h, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return h, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	return h, json.NewDecoder(io.LimitReader(resp.Body, maxHealth)).Decode(&h)
}
