package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is the gateway. Make it with New.
type Server struct {
	door
	opts     Options
	deps     Deps
	http     *http.Server
	health   *healthCache
	meter    *meter
	delivery *CLI
	commands commandTable
	media    mediaKeeper
	started  time.Time
	offline  string // id of this server's notice about the offline model

	stopping chan struct{} // closed when sockets are to go away
	sockets  sync.WaitGroup
	slots    chan struct{} // one for each open socket
	large    chan struct{} // one for each large frame in memory
}

// New returns a server that listens already but answers only once it runs. It
// fails with *port.TakenError when something else listens on Options.Addr.
func New(o Options, d Deps) (*Server, error) {
	o = o.withDefaults()
	d, err := d.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Token == "" {
		return nil, errors.New("the gateway needs a token: set gateway.token")
	}
	entrance, err := openDoor(o, "gateway.addr", d.Logger)
	if err != nil {
		return nil, err
	}
	s := &Server{
		door: entrance, opts: o, deps: d,
		health:   newHealthCache(d, o),
		meter:    newMeter(d),
		delivery: newCLI(),
		commands: newCommandTable(o),
		media:    mediaKeeper{dir: o.MediaDir, workspace: o.Workspace, maxBytes: o.MaxMessageBytes, now: d.Now},
		started:  d.Now(),
		stopping: make(chan struct{}),
		slots:    make(chan struct{}, o.MaxConnections),
		large:    make(chan struct{}, largeSlots(o.LargeBytes, o.MaxMessageBytes+envelope)),
	}
	s.offline = fmt.Sprintf("offline/%d", s.started.UnixMilli())
	s.http = s.server(s.routes())
	return s, nil
}

// uptime grows steadily, whatever is done to the wall clock.
func (s *Server) uptime() time.Duration { return s.deps.Now().Sub(s.started) }

// Delivery returns what hands outbound messages of the CLI channel to connected clients.
func (s *Server) Delivery() *CLI { return s.delivery }

// Close stops listening, for a server that is not going to run.
func (s *Server) Close() error { return s.listener.Close() }

// Run answers until ctx ends. Then it stops accepting, tells every socket that it
// goes away, and returns when all have gone or Timing.Drain is over.
func (s *Server) Run(ctx context.Context) error {
	// Requests and sockets outlive ctx by the time they get to end well.
	work, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	s.http.BaseContext = func(net.Listener) context.Context { return work }

	var background sync.WaitGroup
	if s.opts.WatchRecord {
		outbox := make(chan struct{}, 1)
		background.Go(func() { s.watchRecord(ctx, outbox) })
		background.Go(func() { s.deliverPending(ctx, outbox) })
	}
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(s.listener) }()
	s.log.Info("gateway listens", "addr", s.Addr())

	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
	}
	s.stop(abandon)
	background.Wait()
	if err == nil {
		err = <-served
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve %s: %w", s.Addr(), err)
}

// stop ends requests and sockets, in time or by force.
func (s *Server) stop(abandon context.CancelFunc) {
	drain, cancel := context.WithTimeout(context.Background(), s.opts.Timing.Drain)
	defer cancel()
	close(s.stopping)
	if err := s.http.Shutdown(drain); err != nil {
		s.log.Warn("requests were still running when the gateway stopped", "error", err)
		_ = s.http.Close() // what cannot be closed is gone with the process
	}
	gone := make(chan struct{})
	go func() {
		s.sockets.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return
	case <-drain.Done():
	}
	abandon()
	select {
	case <-gone:
	case <-time.After(2 * s.opts.Timing.Close):
		s.log.Warn("sockets were still open when the gateway stopped")
	}
}

type netConnKey struct{}

// withNetConn keeps the connection below a request at hand: the WebSocket library
// cannot be made to let go of one whose peer does not answer.
func withNetConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, netConnKey{}, c)
}

// netConn returns the connection below a request; ok is false where there is none.
func netConn(r *http.Request) (c net.Conn, ok bool) {
	c, ok = r.Context().Value(netConnKey{}).(net.Conn)
	return c, ok
}
