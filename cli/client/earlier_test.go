package client

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"picobot/internal/chat"
	"picobot/internal/protocol"
)

// opened is what a client was told of earlier rows.
type opened struct {
	mu    sync.Mutex
	times int
	rows  []string
}

func (e *opened) tell(rows []protocol.Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.times++
	for _, m := range rows {
		e.rows = append(e.rows, fmt.Sprintf("%d %s", m.Seq, m.Content))
	}
}

func (e *opened) told() (int, []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.times, slices.Clone(e.rows)
}

func three(protocol.Welcome) int64 { return 3 }

func TestEarlierRowsAreToldOnceBeforeNewOnes(t *testing.T) {
	f := newFake(t)
	for n := range 5 {
		f.row("old", chat.RoleAssistant, fmt.Sprint(n))
	}
	f.onMessage = func(conn int, _ protocol.UserMessage) bool { return conn == 1 } // a reconnect
	var e opened
	tk := f.talk(t, func(o *Options) { o.Earlier, o.OnEarlier = three, e.tell })
	if _, err := tk.ask(t, "hi"); err != nil {
		t.Fatal(err)
	}
	if times, rows := e.told(); times != 1 || !slices.Equal(rows, []string{"3 2", "4 3", "5 4"}) {
		t.Errorf("told %d times of %q", times, rows)
	}
	if got := tk.rows(); !slices.Equal(got, []string{"6 hi", "7 re: hi"}) {
		t.Errorf("rows shown as new: %q", got)
	}
}

func TestEarlierRowsDoNotWaitForARowThatIsNotShown(t *testing.T) {
	f := newFake(t)
	f.row("old", chat.RoleAssistant, "seen")
	f.row("old", chat.RoleSystem, "hidden")
	f.hide = chat.RoleSystem
	var e opened
	f.talk(t, func(o *Options) { o.Earlier, o.OnEarlier = three, e.tell })
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, rows := e.told(); slices.Equal(rows, []string{"1 seen"}) {
			return
		}
		if time.Now().After(until) {
			t.Fatal("nothing was told")
		}
	}
}

func TestNothingEarlierIsAskedForWhereItIsNotWanted(t *testing.T) {
	s := newState(protocol.Hello{})
	s.connect()
	if _, _, err := s.receive(protocol.Welcome{Protocol: 1, SessionID: "a", LastSeq: 7}); err != nil {
		t.Fatal(err)
	}
	if got := s.pending(); len(got) > 0 {
		t.Errorf("sent %+v", got)
	}
}
