package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func testWriter(t testing.TB) *writer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	db, err := open(path, "immediate", "synchronous(FULL)")
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	c, err := newConn(context.Background(), db)
	require.NoError(t, err)
	require.NoError(t, c.pragma(context.Background(), `CREATE TABLE x (n INTEGER PRIMARY KEY)`))
	t.Cleanup(func() {
		require.NoError(t, c.close())
		require.NoError(t, db.Close())
	})
	return newWriter(c)
}

func insert(n int) func(*conn) error {
	return func(c *conn) error {
		_, err := c.exec(context.Background(), `INSERT INTO x VALUES (?)`, n)
		return err
	}
}

func (w *writer) has(t testing.TB, n int) bool {
	t.Helper()
	var found bool
	require.NoError(t, w.conn.row(context.Background(), `SELECT EXISTS (SELECT 1 FROM x WHERE n = ?)`, n).Scan(&found))
	return found
}

// hold keeps the writer busy until the returned function is called.
func (w *writer) hold() (release func()) {
	w.lock <- struct{}{}
	return func() { <-w.lock }
}

func (w *writer) waiting(t testing.TB, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.queue) == n
	}, 10*time.Second, time.Millisecond)
}

// Property: whatever fails, panics or gives up among updates that are made together,
// each one has happened exactly when its caller was told so.
func TestWriter_UpdatesTogether_EachHasItsOwnOutcome(t *testing.T) {
	w := testWriter(t)
	mine := errors.New("mine")
	next := 0
	for range 60 {
		release := w.hold()
		type outcome struct {
			n        int
			err      error
			panicked any
			kind     int
		}
		outcomes := make([]outcome, 1+rand.IntN(40))
		var all sync.WaitGroup
		for i := range outcomes {
			o := &outcomes[i]
			o.n, o.kind = next, rand.IntN(5)
			next++
			all.Go(func() {
				defer func() { o.panicked = recover() }()
				o.err = w.write(context.Background(), func(c *conn) error {
					if err := insert(o.n)(c); err != nil {
						return err
					}
					switch o.kind {
					case 0:
						return mine
					case 1:
						panic("mine")
					case 2:
						return insert(o.n)(c) // a constraint: undoes the statement alone
					}
					return nil
				})
			})
		}
		w.waiting(t, len(outcomes))
		release()
		all.Wait()
		for _, o := range outcomes {
			switch o.kind {
			case 0:
				require.ErrorIs(t, o.err, mine)
			case 1:
				require.Equal(t, "mine", o.panicked)
			case 2:
				require.ErrorContains(t, o.err, "constraint")
			default:
				require.NoError(t, o.err)
			}
			require.Equal(t, o.kind > 2, w.has(t, o.n), "kind %d", o.kind)
		}
	}
}

func TestWriter_UpdatesThatWait_ShareATransaction(t *testing.T) {
	w := testWriter(t)
	var before, after int
	version := func(n *int) func(*conn) error {
		return func(c *conn) error {
			return c.row(context.Background(), `SELECT total_changes()`).Scan(n)
		}
	}
	release := w.hold()
	var running, most atomic.Int32
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			require.NoError(t, w.write(context.Background(), func(c *conn) error {
				most.Store(max(most.Load(), running.Add(1)))
				defer running.Add(-1)
				return insert(i)(c)
			}))
		})
	}
	w.waiting(t, 10)
	batch := w.take()
	require.Len(t, batch, 10)
	require.NoError(t, version(&before)(w.conn))
	require.NoError(t, w.together(batch))
	require.NoError(t, version(&after)(w.conn))
	finish(batch)
	all.Wait()
	release()
	require.Equal(t, 10, after-before)
	require.EqualValues(t, 1, most.Load(), "one at a time")
}

// A full disk rolls the whole transaction back behind our back: those that were in
// it and are not at fault must not be told that they have happened, nor fail with it.
func TestWriter_TransactionIsLostHalfWay_TheOthersAreMadeAgain(t *testing.T) {
	w := testWriter(t)
	release := w.hold()
	var all sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		all.Go(func() {
			errs[i] = w.write(context.Background(), func(c *conn) error {
				if err := insert(i)(c); err != nil {
					return err
				}
				if i == 3 {
					_, err := c.exec(context.Background(), `ROLLBACK`) // what SQLite does on SQLITE_FULL
					return errors.Join(err, errors.New("disk full"))
				}
				return nil
			})
		})
		w.waiting(t, i+1)
	}
	release()
	all.Wait()
	for i, err := range errs {
		if i == 3 {
			require.ErrorContains(t, err, "disk full")
		} else {
			require.NoError(t, err, i)
		}
		require.Equal(t, i != 3, w.has(t, i), i)
	}
}

func TestWriter_CallerGivesUpWhileWaiting_NothingOfItHappens(t *testing.T) {
	w := testWriter(t)
	release := w.hold()
	ctx, giveUp := context.WithCancel(context.Background())
	told := make(chan error)
	go func() { told <- w.write(ctx, insert(1)) }()
	w.waiting(t, 1)
	giveUp()
	require.ErrorIs(t, <-told, context.Canceled)
	release()
	require.NoError(t, w.write(context.Background(), insert(2)))
	require.False(t, w.has(t, 1))
	require.True(t, w.has(t, 2))
}

// Property: many writers at once, some of which give up at any moment: who is told
// "done" has it done, and who is told otherwise has not.
func TestWriter_ManyAtOnce_NobodyIsToldALie(t *testing.T) {
	w := testWriter(t)
	const people, each = 16, 40
	told := make([]error, people*each)
	var all sync.WaitGroup
	for p := range people {
		all.Go(func() {
			for i := range each {
				n := p*each + i
				ctx, stop := context.WithCancel(context.Background())
				if rand.IntN(4) == 0 {
					time.AfterFunc(time.Duration(rand.IntN(300))*time.Microsecond, stop)
				}
				told[n] = w.write(ctx, insert(n))
				stop()
			}
		})
	}
	all.Wait()
	for n, err := range told {
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
		require.Equal(t, err == nil, w.has(t, n), fmt.Sprint(n))
	}
}

func TestWriter_MoreWaitThanShareATransaction_AllAreMade(t *testing.T) {
	w := testWriter(t)
	release := w.hold()
	var all sync.WaitGroup
	for i := range 3*maxTogether + 1 {
		all.Go(func() { require.NoError(t, w.write(context.Background(), insert(i))) })
	}
	w.waiting(t, 3*maxTogether+1)
	release()
	all.Wait()
	require.True(t, w.has(t, 3*maxTogether))
}
