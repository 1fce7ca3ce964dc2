package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"picobot/internal/id"
	"picobot/internal/text"
)

// Options configure a Store.
type Options struct {
	Path        string           // the database file; its directory must exist
	Now         func() time.Time // the clock of every *_at column
	RetryDelays []time.Duration  // waits between tries of a write that failed; empty = one try
	// ExpireAfter: a dialog that was silent for longer is not gone on with: the next
	// message of its chat that names no session opens a new one. 0 = none expires.
	ExpireAfter time.Duration
	EraseRows   int // how many rows of a kind a step of an erasure takes; 0 = 200
	OnChange    func(sessionID string)
	OnJobs      func() // jobs or their runs changed
	Scheduler   Scheduler
	// OnWrite is told of each write, when it is on the disk or given up: how long it
	// took, how often it was tried again, and why it was given up.
	OnWrite func(took time.Duration, retries int, err error)
	Logger  *slog.Logger
}

// Scheduler is what jobs are measured by that say nothing themselves.
type Scheduler struct {
	MisfirePolicy       string
	MisfireGraceSeconds int // 0 = see schedule.Job.Grace
	// Texts say how runs ended, to the chats of those that failed too; nil = English.
	Texts *text.Catalogue
}

// Store is an open record. It is safe for concurrent use.
type Store struct {
	write     *sql.DB // one connection, the writer's; nil in a reader
	read      *sql.DB // several connections, query_only
	writer    *writer
	readers   chan *conn // those not in use
	closed    chan struct{}
	now       func() time.Time
	ids       *id.Maker
	delays    []time.Duration
	expiry    time.Duration
	erasing   int // rows of a kind in one step of an erasure
	onChange  func(string)
	onJobs    func()
	scheduler Scheduler
	onWrite   func(time.Duration, int, error)
	log       *slog.Logger
	failing   atomic.Bool // the last write did not get through
}

// busyTimeout is how long SQLite waits for another process's lock before a
// statement fails; the retry delays come on top.
const busyTimeout = 300 * time.Millisecond

// Open opens the record, makes it if there is none, and brings it to the newest
// schema. A file with a newer schema than this build knows is refused with
// ErrSchemaTooNew.
func Open(ctx context.Context, o Options) (*Store, error) {
	return patiently(ctx, func() (*Store, error) { return openOnce(ctx, o) })
}

func openOnce(ctx context.Context, o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OnChange == nil {
		o.OnChange = func(string) {}
	}
	if o.OnJobs == nil {
		o.OnJobs = func() {}
	}
	if o.OnWrite == nil {
		o.OnWrite = func(time.Duration, int, error) {}
	}
	if o.EraseRows <= 0 {
		o.EraseRows = eraseRows
	}
	// Created by us first, so that SQLite keeps its mode for the -wal and -shm files too.
	f, err := os.OpenFile(o.Path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	if err := migrate(ctx, o); err != nil {
		return nil, err
	}
	write, err := open(o.Path, "immediate", "synchronous(FULL)", "foreign_keys(ON)")
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	read, err := open(o.Path, "deferred", "query_only(ON)")
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	s := &Store{
		write: write, read: read, now: o.Now, ids: id.NewMaker(o.Now),
		delays: o.RetryDelays, expiry: o.ExpireAfter, erasing: o.EraseRows, onChange: o.OnChange, onJobs: o.OnJobs, scheduler: o.Scheduler, onWrite: o.OnWrite, log: o.Logger, closed: make(chan struct{}),
	}
	err = s.connect(ctx)
	if err == nil {
		err = intact(ctx, read)
	}
	if err == nil {
		err = s.Ping(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open record %s: %w", filepath.Base(o.Path), err), s.Close())
	}
	return s, nil
}

// connect opens the connections that stay open.
func (s *Store) connect(ctx context.Context) error {
	c, err := newConn(ctx, s.write)
	if err != nil {
		return err
	}
	s.writer = newWriter(c)
	return s.connectReaders(ctx)
}

func (s *Store) connectReaders(ctx context.Context) error {
	readers := make(chan *conn, max(4, runtime.NumCPU()))
	for range cap(readers) {
		c, err := newConn(ctx, s.read)
		if err != nil {
			return err // closing the pool closes those that are open
		}
		readers <- c
	}
	s.readers = readers
	return nil
}

// open opens a pool. Pragmas go into the DSN in modernc's spelling: others are
// ignored without a word.
func open(path, txlock string, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"_txlock": {txlock}}
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()))
	q.Add("_pragma", "journal_mode(WAL)")
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	return openDSN(path, q)
}

func openDSN(path string, q url.Values) (*sql.DB, error) {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	return db, nil
}

// Close closes the record after folding the write-ahead log into the file. It
// waits for reads and writes that are under way; later ones fail.
func (s *Store) Close() error {
	close(s.closed)
	var errs []error
	for range cap(s.readers) {
		select {
		case c := <-s.readers:
			errs = append(errs, c.close())
		case <-time.After(closePatience):
			errs = append(errs, errors.New("close record: a read does not end"))
		}
	}
	if s.writer != nil {
		s.writer.lock <- struct{}{}
		errs = append(errs, s.writer.conn.pragma(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`), s.writer.conn.close())
		<-s.writer.lock
	}
	errs = append(errs, s.read.Close())
	if s.write != nil {
		errs = append(errs, s.write.Close())
	}
	return errors.Join(errs...)
}

// closePatience bounds how long Close waits for a read.
const closePatience = 5 * time.Second

// Ping reports whether the record can be read and written. While the last write has
// failed it writes for real: a full disk still gives out the write lock.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.view(ctx, func(q querier) error {
		var n int
		return q.row(`SELECT count(*) FROM sqlite_master`).Scan(&n)
	}); err != nil {
		return fmt.Errorf("read record: %w", err)
	}
	if s.failing.Load() {
		return s.probe(ctx)
	}
	if err := s.writer.write(ctx, func(*conn) error { return nil }); err != nil { // takes the write lock
		return fmt.Errorf("lock record for writing: %w", err)
	}
	return nil
}

// probe writes a page and clears the mark of failure when it gets through. The
// version it sets is SQLite's user_version, which nothing else uses.
func (s *Store) probe(ctx context.Context) error {
	if err := s.writer.write(ctx, func(c *conn) error { return c.pragma(ctx, `PRAGMA user_version = 1`) }); err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	s.failing.Store(false)
	return nil
}
