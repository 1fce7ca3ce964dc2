package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"picobot/internal/config"
	"picobot/internal/home"
)

// heldByAgent is a home that an `agent` owns, whose gateway answers with handler, and
// the options of a gateway that would like to have it.
func heldByAgent(t *testing.T, handler func(*home.Lock) http.HandlerFunc) Options {
	t.Helper()
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	lock, err := h.Lock(home.Owner{Command: commandAgent})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Unlock() })
	server := httptest.NewServer(handler(lock))
	t.Cleanup(server.Close)
	if err := lock.Update(home.Owner{Command: commandAgent, Address: strings.TrimPrefix(server.URL, "http://")}); err != nil {
		t.Fatal(err)
	}
	return Options{Home: h, Config: config.Config{Gateway: config.Gateway{Token: "secret"}}, Command: commandGateway, Log: slog.New(slog.DiscardHandler), Say: func(string) {}}
}

func TestTakeHome_AgentIsJustEnding_WaitsForTheHome(t *testing.T) {
	o := heldByAgent(t, func(lock *home.Lock) http.HandlerFunc {
		return func(http.ResponseWriter, *http.Request) {
			_ = lock.Unlock()
			panic(http.ErrAbortHandler) // the connection breaks without an answer
		}
	})
	lock, err := takeHome(t.Context(), o, home.Owner{Command: commandGateway})
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestTakeHome_AgentRefuses_SaysWhoHasTheHome(t *testing.T) {
	asked := 0
	o := heldByAgent(t, func(*home.Lock) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			asked++
			http.Error(w, `{"error":{"code":"unauthorized","message":"no"}}`, http.StatusUnauthorized)
		}
	})
	_, err := takeHome(t.Context(), o, home.Owner{Command: commandGateway})
	if _, held := errors.AsType[*home.HeldError](err); !held || asked != 1 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

func TestTakeHome_AnotherAgent_AsksForNothing(t *testing.T) {
	o := heldByAgent(t, func(*home.Lock) http.HandlerFunc {
		return func(http.ResponseWriter, *http.Request) { t.Error("an agent takes no home") }
	})
	o.Command = commandAgent
	_, err := takeHome(t.Context(), o, home.Owner{Command: commandAgent})
	if _, held := errors.AsType[*home.HeldError](err); !held {
		t.Errorf("%v", err)
	}
}

func TestTakeHome_StoppedWhileItWaits_IsNoQuarrelAboutTheHome(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	o := heldByAgent(t, func(*home.Lock) http.HandlerFunc {
		return func(http.ResponseWriter, *http.Request) {
			stop()
			panic(http.ErrAbortHandler)
		}
	})
	_, err := takeHome(ctx, o, home.Owner{Command: commandGateway})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
