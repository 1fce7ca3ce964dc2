package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

	"picobot/internal/home"
	"picobot/internal/port"
	"picobot/internal/text"
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
	e.ok("home", e.Home.Dir)
}

// runningGateway finds out who owns the home. What a gateway holds open only it can
// judge, so later checks ask it.
func (e *examination) runningGateway(ctx context.Context) {
	owner, alive, err := e.Home.ReadOwner()
	if err != nil {
		e.fail("gateway", text.DoctorDeleteLock{File: e.Home.LockFile()}, err.Error())
		return
	}
	switch {
	case !alive:
		e.port(ctx)
		return
	case owner.Address == "":
		e.warn("gateway", text.DoctorAskAgain{}, e.say(text.DoctorStarting{PID: owner.PID, Command: owner.Command}))
		return
	}
	h, err := e.ask(ctx, home.URL(owner.Address)+"/health")
	if err != nil {
		e.fail("gateway", text.DoctorRestart{PID: owner.PID}, e.say(text.DoctorSilent{PID: owner.PID, Command: owner.Command, Address: owner.Address, Detail: err.Error()}))
		return
	}
	e.gateway = &h
	if h.Worker != "ok" {
		e.fail("gateway", text.DoctorSeeLog{}, e.say(text.DoctorWorkerIll{PID: owner.PID, Address: owner.Address, State: strconv.Quote(h.Worker)}))
		return
	}
	e.ok("gateway", e.say(text.DoctorRunning{PID: owner.PID, Command: owner.Command, Address: owner.Address}))
}

// port says that no gateway runs, and whether one could.
func (e *examination) port(ctx context.Context) {
	l, err := port.Listen(ctx, e.Config.Gateway.Addr)
	if taken, ok := errors.AsType[*port.TakenError](err); ok {
		e.fail("gateway", text.DoctorAddressTaken{Key: "gateway.addr"}, e.say(text.DoctorNoGatewayCan{Detail: taken.Error()}))
		return
	}
	if err != nil {
		e.fail("gateway", text.DoctorAddressWrong{}, e.say(text.DoctorNoGatewayCan{Detail: err.Error()}))
		return
	}
	_ = l.Close()
	e.warn("gateway", text.DoctorStartGateway{}, e.say(text.DoctorNoGateway{}))
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
