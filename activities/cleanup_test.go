package activities_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"picobot/activities"
	"picobot/internal/chat"
	"picobot/internal/tools"
	"picobot/store"
)

const (
	retention = 7 * 24 * time.Hour
	expiry    = time.Hour
)

// attic is a record and a directory of attachments in which things get old.
type attic struct {
	*testing.T
	dir    string
	now    atomic.Int64
	record *store.Store
	acts   *activities.Activities
}

func newAttic(t *testing.T, keep time.Duration) *attic {
	a := &attic{T: t, dir: t.TempDir()}
	a.now.Store(time.Now().Unix())
	now := func() time.Time { return time.Unix(a.now.Load(), 0) }
	var err error
	a.record, err = store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "sessions.db"), Now: now, ExpireAfter: expiry})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.record.Close()) })
	none, err := tools.NewRegistry(tools.Options{})
	require.NoError(t, err)
	a.acts = activities.New(activities.Deps{
		Record: a.record, Tools: none, Now: now, Logger: slog.New(slog.DiscardHandler), Mask: func(s string) string { return s },
		Cleanup: activities.Cleanup{Retention: keep, MediaDir: a.dir},
	})
	return a
}

func (a *attic) pass(d time.Duration) { a.now.Add(int64(d / time.Second)) }

// clean cleans up as a worker does.
func (a *attic) clean() {
	a.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a.acts.CleanUp)
	_, err := env.ExecuteActivity(a.acts.CleanUp)
	require.NoError(a, err)
}

// file makes a file of that age.
func (a *attic) file(name string, age time.Duration) {
	a.Helper()
	path := filepath.Join(a.dir, name)
	require.NoError(a, os.WriteFile(path, []byte(name), 0o600))
	at := time.Unix(a.now.Load(), 0).Add(-age)
	require.NoError(a, os.Chtimes(path, at, at))
}

func (a *attic) files() []string {
	a.Helper()
	entries, err := os.ReadDir(a.dir)
	require.NoError(a, err)
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// said has a message with a picture answered, in the chat's active dialog.
func (a *attic) said(chatID, id, picture string) string {
	a.Helper()
	got, err := a.record.Accept(a.Context(), store.Inbound{Channel: "cli", ChatID: chatID, ExternalID: id, SenderID: "me", Content: "hi",
		Media: []chat.MediaRef{{Type: "image", Path: picture}}})
	require.NoError(a, err)
	_, err = a.record.BeginTurn(a.Context(), store.Begin{SessionID: got.SessionID, WorkflowID: "w", RunID: "r"})
	require.NoError(a, err)
	_, err = a.record.CommitAnswer(a.Context(), got.Turn.ID, 1, store.Answer{Message: chat.Message{Role: chat.RoleAssistant, Content: "ho"}, Model: "m",
		Calls: []store.ModelCall{{Step: 1, Model: "m", Provider: "p"}}})
	require.NoError(a, err)
	return got.SessionID
}

func (a *attic) delete(session, chatID string) {
	a.Helper()
	_, err := a.record.RunCommand(a.Context(), store.Inbound{Channel: "cli", ChatID: chatID, ExternalID: "delete " + session, SessionID: session, SenderID: "me", Content: "/delete"},
		"delete", func(tx *store.CommandTx) (store.CommandAnswer, error) {
			next, _, err := tx.Delete(store.Finish{})
			return store.CommandAnswer{Text: "deleted", SessionID: next.ID}, err
		})
	require.NoError(a, err)
}

func (a *attic) has(session string) bool {
	a.Helper()
	_, err := a.record.Session(a.Context(), session)
	if err != nil {
		require.ErrorIs(a, err, store.ErrNotFound)
	}
	return err == nil
}

func TestCleanUp_ErasesWhatWasDeletedForLongerThanItIsKept(t *testing.T) {
	a := newAttic(t, retention)
	kept, old := a.said("x", "1", "kept.png"), a.said("y", "1", "old.png")
	a.file("kept.png", 10*retention)
	a.file("old.png", 10*retention)
	a.delete(old, "y")
	a.pass(retention - time.Hour)
	young := a.said("z", "1", "young.png")
	a.file("young.png", 10*retention)
	a.file("orphan.png", retention+time.Hour)
	a.file("fresh orphan.png", retention-time.Hour)
	a.file(".new-1", retention+time.Hour)
	a.file(".new-2", time.Minute)
	require.NoError(t, os.Mkdir(filepath.Join(a.dir, "directory"), 0o700))
	a.delete(young, "z")
	a.clean()
	require.True(t, a.has(old), "it was deleted an hour too late")
	require.Equal(t, []string{".new-2", "directory", "fresh orphan.png", "kept.png", "old.png", "young.png"}, a.files())

	a.pass(2 * time.Hour)
	a.clean()
	require.False(t, a.has(old))
	require.True(t, a.has(young))
	require.True(t, a.has(kept))
	require.Equal(t, []string{".new-2", "directory", "kept.png", "young.png"}, a.files())
	a.pass(2 * retention)
	a.clean()
	require.False(t, a.has(young))
	require.Equal(t, []string{"directory", "kept.png"}, a.files())
	require.True(t, a.has(kept))
}

func TestCleanUp_WithoutRetention_ErasesNothing(t *testing.T) {
	a := newAttic(t, 0)
	old := a.said("y", "1", "old.png")
	a.file("orphan.png", 1000*retention)
	a.delete(old, "y")
	a.pass(1000 * retention)
	a.clean()
	require.True(t, a.has(old))
	require.Equal(t, []string{"orphan.png"}, a.files())
}

func TestCleanUp_KilledWhileAFileWasAside_TheFileIsThereAgain(t *testing.T) {
	a := newAttic(t, retention)
	a.said("x", "1", "named.png")
	a.file(".doomed-named.png", 2*retention)
	a.file(".doomed-nameless.png", 2*retention)
	a.file(".doomed-young.png", time.Minute)
	a.file("again.png", time.Minute)
	a.file(".doomed-again.png", 2*retention)
	a.clean()
	require.Equal(t, []string{"again.png", "named.png", "young.png"}, a.files())
}

func TestCleanUp_TakesExpiredDialogsOutOfUse(t *testing.T) {
	a := newAttic(t, 0)
	silent, busy := a.said("x", "1", ""), a.said("y", "1", "")
	_, err := a.record.Accept(t.Context(), store.Inbound{Channel: "cli", ChatID: "y", ExternalID: "2", SenderID: "me", Content: "wait"})
	require.NoError(t, err)
	empty, _, err := a.record.OpenChat(t.Context(), store.NewSession{Channel: "cli", ChatID: "w"})
	require.NoError(t, err)
	a.pass(expiry - time.Minute)
	recent := a.said("z", "1", "")
	a.pass(2 * time.Minute)
	a.clean()
	for id, active := range map[string]bool{silent: false, busy: true, recent: true, empty.ID: true} {
		sess, err := a.record.Session(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, active, sess.Active, id)
	}
	require.NotEqual(t, silent, a.said("x", "2", ""), "the chat goes on in a new one")
}

// Stopped at any step, a cleanup leaves what is left to the next one.
func TestCleanUp_StoppedAtAnyStep_IsDoneTheNextTime(t *testing.T) {
	a := newAttic(t, retention)
	var all []string
	for _, chatID := range []string{"a", "b", "c"} {
		session := a.said(chatID, "1", chatID+".png")
		a.file(chatID+".png", 0)
		a.delete(session, chatID)
		all = append(all, session)
	}
	a.pass(2 * retention)
	for steps := range 12 {
		_ = a.acts.CleanUp(newStopsAfter(t.Context(), steps))
	}
	a.clean()
	for _, session := range all {
		require.False(t, a.has(session))
	}
	require.Empty(t, a.files())
}

// stopsAfter is a context that ends once it was asked so often.
type stopsAfter struct {
	context.Context
	steps atomic.Int64 // database/sql asks too, from a goroutine of its own
}

func newStopsAfter(ctx context.Context, steps int) *stopsAfter {
	s := &stopsAfter{Context: ctx}
	s.steps.Store(int64(steps))
	return s
}

func (s *stopsAfter) Err() error {
	if s.steps.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}
