package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"google.golang.org/grpc"

	"picobot/internal/text"
)

const (
	startPatience      = 60 * time.Second
	stopPatience       = 2500 * time.Millisecond
	checkpointPatience = 500 * time.Millisecond
)

// Server is a running Temporal server with its web UI.
type Server struct {
	opts     Options
	files    files
	prepared *prepared
	running  *running
	ui       *uiServer
	conn     *grpc.ClientConn
	lock     *flock.Flock
	notices  []text.Message

	mu    sync.Mutex
	build string // what the record of the files says

	stop    sync.Once
	stopErr error
}

// Start runs a server and returns once it serves. It fails with
// *PortTakenError when an address that is fixed is taken.
func Start(ctx context.Context, opts Options) (_ *Server, err error) {
	o := opts.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()

	s := &Server{opts: o, files: files{dir: o.Dir}}
	defer func() {
		if err != nil {
			_ = s.Stop(context.WithoutCancel(ctx))
		}
	}()
	if err := os.MkdirAll(o.Dir, dirPerm); err != nil {
		return nil, fmt.Errorf("make the engine's directory: %w", err)
	}
	if err := s.acquire(); err != nil {
		return nil, err
	}
	// The web UI's port first: nothing has been touched yet when it is refused.
	if !o.NoUI {
		ln, notice, err := listen(ctx, o.UIAddress, o.UIFixed, func(taken string, used int) text.Message {
			return text.UIPortReplaced{Taken: taken, Used: used}
		})
		if err != nil {
			return nil, err
		}
		s.ui = newUIServer(ln, o)
		s.note(notice)
	}
	if s.prepared, err = prepare(ctx, o, s.files); err != nil {
		return nil, s.advise(err)
	}
	s.build = s.prepared.meta.Build
	if s.running, err = launch(ctx, o, s.prepared); err != nil {
		return nil, s.advise(err)
	}
	s.note(s.running.ports.notice)
	if s.conn, err = dial(s.Address(), o.APIKey); err != nil {
		return nil, err
	}
	if err := waitReady(ctx, s.conn, o.Namespace, s.running.log.fail); err != nil {
		return nil, s.advise(err)
	}
	if s.ui != nil {
		if err := s.ui.serve(s.Address(), s.conn); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// acquire makes sure that no other engine works on the same files: both would
// believe that they own them.
func (s *Server) acquire() error {
	lock := flock.New(s.files.lock(), flock.SetPermissions(0o600))
	got, err := lock.TryLock()
	if err != nil {
		return fmt.Errorf("lock the engine's files with %s: %w", s.files.lock(), err)
	}
	if !got {
		return fmt.Errorf("another engine works on the files in %s: stop that process first", s.files.dir)
	}
	s.lock = lock
	return nil
}

func (s *Server) note(m text.Message) {
	if m != nil {
		s.notices = append(s.notices, m)
	}
}

// advise adds what to do to errors that may come from the files.
func (s *Server) advise(err error) error {
	var taken *PortTakenError
	if errors.As(err, &taken) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w (if this happens again, delete %s: it is rebuilt from the record)", err, s.files.dir)
}

// Address is host:port for Temporal clients on this machine.
func (s *Server) Address() string { return s.running.ports.dialFrontend() }

// Namespace is the namespace that clients use.
func (s *Server) Namespace() string { return s.opts.Namespace }

// UIURL is the address of the web UI, "" without one.
func (s *Server) UIURL() string {
	if s.ui == nil {
		return ""
	}
	return s.ui.url()
}

// UILoginURL is UIURL with the key in it: a browser that opens it is let in and
// stays let in. It is a secret.
func (s *Server) UILoginURL() string {
	if s.ui == nil {
		return ""
	}
	return s.ui.loginURL()
}

// Notices are for a person: which ports were replaced.
func (s *Server) Notices() []text.Message { return slices.Clone(s.notices) }

// Fresh reports that the server started without anything in its files, and why.
// Its caller then rebuilds schedules and open work from the record.
func (s *Server) Fresh() (fresh bool, reason string) { return s.prepared.fresh, s.prepared.why }

// BuildChanged reports that another build of PicoBot left the files. Its caller
// then ends the open runs, whose histories this build may not be able to
// replay, and calls AcceptBuild.
func (s *Server) BuildChanged() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.build != s.opts.Build
}

// AcceptBuild records that no run of another build is open any more. Until then
// each start reports BuildChanged, also after a crash.
func (s *Server) AcceptBuild() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.prepared.meta
	m.Build = s.opts.Build
	if err := m.write(s.files.meta()); err != nil {
		return err
	}
	s.prepared.meta, s.build = m, m.Build
	return nil
}

// Failed is closed when the server cannot go on; Err then says why. Its owner
// should stop the process: nothing moves any more.
func (s *Server) Failed() <-chan struct{} { return s.running.log.fail.done }

// Err returns nil while the server works.
func (s *Server) Err() error { return s.running.log.fail.get() }

// Stop ends the web UI and the server and leaves the files whole. It takes at
// most about three seconds; calling it again does nothing.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() { s.stopErr = s.shutdown(ctx) })
	return s.stopErr
}

func (s *Server) shutdown(ctx context.Context) error {
	var errs []error
	if s.ui != nil {
		errs = append(errs, s.ui.close())
	}
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	if s.running != nil {
		errs = append(errs, s.running.stop(ctx))
		// Also after a stop that was cut short: what is in the log is whole.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkpointPatience)
		defer cancel()
		for _, path := range s.files.databases() {
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				continue // deleted under us: the next start makes it anew
			}
			errs = append(errs, checkpoint(ctx, path))
		}
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop the engine: %w", err)
	}
	return nil
}

func (r *running) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	r.log.enter(phaseStopping)
	defer r.log.enter(phaseStopped)
	done := make(chan error, 1)
	go func() { done <- r.srv.Stop() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the temporal server did not stop in time: %w", ctx.Err())
	}
}
