package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"go.temporal.io/server/common/primitives"

	"picobot/internal/port"
	"picobot/internal/text"
)

// PortTakenError says that something else listens on an address that the
// config names.
type PortTakenError = port.TakenError

type endpoint struct {
	ip   string
	port int
}

// ports are the addresses that one start uses.
type ports struct {
	frontend endpoint
	internal map[primitives.ServiceName]int
	notice   text.Message
	held     []net.Listener
}

func hostPort(host string, number int) string {
	return net.JoinHostPort(host, strconv.Itoa(number))
}

// dialFrontend is the address for clients on this machine.
func (p ports) dialFrontend() string {
	return hostPort(dialHost(p.frontend.ip), p.frontend.port)
}

// dialHost turns an address that means every interface into one that can be
// connected to.
func dialHost(ip string) string {
	addr := net.ParseIP(ip)
	switch {
	case addr == nil || !addr.IsUnspecified():
		return ip
	case addr.To4() != nil:
		return loopback
	default:
		return net.IPv6loopback.String()
	}
}

// choosePorts finds a port for each service and keeps them all open, so that
// they differ. release them just before the server opens them itself: it cannot
// be handed a listener.
func choosePorts(ctx context.Context, o Options) (ports, error) {
	p := ports{internal: map[primitives.ServiceName]int{}}
	ln, notice, err := listen(ctx, o.Address, o.AddressFixed, func(taken string, used int) text.Message {
		return text.TemporalPortReplaced{Taken: taken, Used: used}
	})
	if err != nil {
		return ports{}, err
	}
	p.notice, p.held = notice, append(p.held, ln)
	addr := ln.Addr().(*net.TCPAddr)
	p.frontend = endpoint{ip: addr.IP.String(), port: addr.Port}
	for _, name := range internalServices() {
		ln, err := port.Listen(ctx, hostPort(loopback, 0))
		if err != nil {
			p.release()
			return ports{}, fmt.Errorf("find a free port for the engine: %w", err)
		}
		p.held = append(p.held, ln)
		p.internal[name] = ln.Addr().(*net.TCPAddr).Port
	}
	return p, nil
}

func (p *ports) release() {
	for _, ln := range p.held {
		_ = ln.Close()
	}
	p.held = nil
}

// listen opens addr or, when it is taken and not fixed, a free port of the same
// host and a notice that says so.
func listen(ctx context.Context, addr string, fixed bool, replaced func(taken string, used int) text.Message) (net.Listener, text.Message, error) {
	ln, err := port.Listen(ctx, addr)
	var taken *PortTakenError
	if err == nil || fixed || !errors.As(err, &taken) {
		return ln, nil, err
	}
	host, old, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, nil, fmt.Errorf("address %q is not host:port: %w", addr, err)
	}
	ln, err = port.Listen(ctx, net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, nil, err
	}
	return ln, replaced(old, ln.Addr().(*net.TCPAddr).Port), nil
}
