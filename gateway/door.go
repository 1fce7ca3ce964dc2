package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"picobot/internal/port"
)

// door is what every request passes through: who may come in, which route it takes,
// what becomes of errors.
type door struct {
	log      *slog.Logger
	listener net.Listener
	guard    *guard
	lobby    *lobby
}

// openDoor listens where o says; setting names where people say so.
func openDoor(o Options, setting string, log *slog.Logger) (d door, err error) {
	d = door{log: log, lobby: newLobby(o.MaxStrangers), listener: o.Listener}
	if d.listener == nil {
		if d.listener, err = port.Listen(context.Background(), o.Addr); err != nil {
			return d, fmt.Errorf("%s: %w", setting, err)
		}
	}
	if d.guard, err = newGuard(o, d.listener.Addr()); err != nil {
		return d, errors.Join(fmt.Errorf("%s: %w", setting, err), d.listener.Close())
	}
	return d, nil
}

// Addr returns the address that is listened on (host:port).
func (d *door) Addr() string { return d.listener.Addr().String() }

// server answers at the routes.
func (d *door) server(routes []route) *http.Server {
	return &http.Server{
		Handler:           d.handler(routes),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute, // these two end with the upgrade to a WebSocket
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
		ConnContext:       withNetConn,
		ConnState:         d.lobby.changed,
	}
}
