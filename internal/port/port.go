package port

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// Process is a process that listens on a port.
type Process struct {
	PID  int
	Name string
}

// TakenError says that something else listens on an address.
type TakenError struct {
	Addr string
	// Owner has a zero PID where it cannot be known: another user's process,
	// or a system that does not tell.
	Owner Process
}

// Error names who has the port where that is known.
func (e *TakenError) Error() string {
	who := "another process"
	if e.Owner.PID > 0 {
		who = fmt.Sprintf("process %d (%s)", e.Owner.PID, e.Owner.Name)
	}
	return fmt.Sprintf("address %s is taken by %s: stop it or configure another address", e.Addr, who)
}

// Listen opens addr (host:port) for TCP. It fails with *TakenError when
// something else listens there.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		owner, _ := Owner(addr)
		return nil, &TakenError{Addr: addr, Owner: owner}
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return ln, nil
}

// Owner says which process listens on addr, where that can be known.
func Owner(addr string) (Process, bool) {
	_, p, err := net.SplitHostPort(addr)
	if err != nil {
		return Process{}, false
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err != nil || n == 0 {
		return Process{}, false
	}
	return owner(uint16(n))
}
