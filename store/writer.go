package store

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// maxTogether bounds how many updates share a transaction.
const maxTogether = 64

// writer makes all changes through one connection, because SQLite has one writer.
// Updates that wait for it at the same time are made together, each in a savepoint
// of its own: what they wait for is the disk, and one sync serves them all.
type writer struct {
	conn *conn
	lock chan struct{} // holds a token while somebody writes

	mu    sync.Mutex
	queue []*job
}

// job is one update that somebody waits for.
type job struct {
	do func(*conn) error // may run several times

	done     chan struct{}
	err      error
	panicked any
}

func newWriter(c *conn) *writer {
	return &writer{conn: c, lock: make(chan struct{}, 1)}
}

// write runs do in a transaction and returns when that is on the disk. ctx ends the wait, never an
// update that has begun: SQLite would roll back whatever else is in the transaction.
func (w *writer) write(ctx context.Context, do func(*conn) error) error {
	j := &job{do: do, done: make(chan struct{})}
	w.mu.Lock()
	w.queue = append(w.queue, j)
	w.mu.Unlock()
	if !w.await(ctx, j) {
		return ctx.Err()
	}
	if j.panicked != nil {
		panic(j.panicked)
	}
	return j.err
}

// version changes when somebody has committed through another connection than this one.
func (w *writer) version(ctx context.Context) (int64, error) {
	select {
	case w.lock <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-w.lock }()
	return dataVersion(context.WithoutCancel(ctx), w.conn.sql)
}

// await returns once the job is made, by this goroutine or by another that held the
// lock, or false when ctx ended and nobody had begun it.
func (w *writer) await(ctx context.Context, j *job) bool {
	for {
		select {
		case <-j.done:
			return true
		case w.lock <- struct{}{}:
			w.run(w.take())
			<-w.lock
		case <-ctx.Done():
			if w.withdraw(j) {
				return false
			}
			<-j.done
			return true
		}
	}
}

// take empties the queue, up to maxTogether.
func (w *writer) take() []*job {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.queue), maxTogether)
	batch := slices.Clone(w.queue[:n])
	w.queue = slices.Delete(w.queue, 0, n)
	return batch
}

// withdraw takes a job back that nobody has begun.
func (w *writer) withdraw(j *job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.queue, j)
	if i < 0 {
		return false
	}
	w.queue = slices.Delete(w.queue, i, i+1)
	return true
}

// run makes the updates of a batch: together, or each alone when one of them takes
// the transaction down (a full disk, say) so that each gets its own answer.
func (w *writer) run(batch []*job) {
	if len(batch) > 1 && w.together(batch) == nil {
		finish(batch)
		return
	}
	for _, j := range batch {
		if err := w.alone(j); err != nil {
			j.err = err
		}
	}
	finish(batch)
}

func finish(batch []*job) {
	for _, j := range batch {
		close(j.done)
	}
}

// together makes a batch in one transaction. A job that fails is undone alone; the
// error is the transaction's, after which nothing of the batch has happened.
func (w *writer) together(batch []*job) error {
	return w.transaction(func(ctx context.Context) error {
		for _, j := range batch {
			if _, err := w.conn.exec(ctx, `SAVEPOINT one`); err != nil {
				return err
			}
			if j.try(w.conn); j.err != nil || j.panicked != nil {
				if _, err := w.conn.exec(ctx, `ROLLBACK TO one`); err != nil {
					return err
				}
			}
			if _, err := w.conn.exec(ctx, `RELEASE one`); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *writer) alone(j *job) error {
	return w.transaction(func(context.Context) error {
		j.try(w.conn)
		if j.panicked != nil {
			return fmt.Errorf("panic: %v", j.panicked)
		}
		return j.err
	})
}

// try runs the job. A panic is its owner's, who may be another goroutine.
func (j *job) try(c *conn) {
	j.err, j.panicked = nil, nil
	defer func() { j.panicked = recover() }()
	j.err = j.do(c)
}

// transaction commits what do does, or nothing of it.
func (w *writer) transaction(do func(context.Context) error) error {
	ctx := context.Background() // nothing of SQLite's may be interrupted half-way
	if _, err := w.conn.exec(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	err := do(ctx)
	if err == nil {
		_, err = w.conn.exec(ctx, `COMMIT`)
	}
	if err != nil {
		// Fails when SQLite has rolled back by itself, which is as good.
		_, _ = w.conn.exec(ctx, `ROLLBACK`)
	}
	return err
}
