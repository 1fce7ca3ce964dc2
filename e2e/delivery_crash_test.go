package e2e

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/testkit/strict"
	"picobot/store"
)

var (
	deliveryKills = flag.Int("delivery-kills", 8, "how often the delivering process is killed")
	deliverySeed  = flag.Uint64("delivery-seed", 0, "of everything random in it; 0 = another one each time")
)

// deliveryRig is an installation whose process is killed while it delivers.
type deliveryRig struct {
	*testing.T
	dir     string
	outside *outside
	child   *child
	rand    *rand.Rand
	record  *store.Store // for reading: the same file, as another process has it
	db      *sql.DB      // for locking
	mu      sync.Mutex
	release func() // gives the record's lock back
	said    []said
	started time.Time
	took    []time.Duration // from each start until everything was delivered
}

// said is a message that was given to PicoBot.
type said struct{ chat, id, text string }

func newDeliveryRig(t *testing.T) *deliveryRig {
	seed := *deliverySeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	r := &deliveryRig{T: t, dir: t.TempDir(), outside: newOutside(t), rand: rand.New(rand.NewPCG(seed, 0))}
	path := filepath.Join(r.dir, "sessions.db")
	var err error
	r.record, err = store.Open(context.Background(), store.Options{Path: path, Now: time.Now})
	require.NoError(t, err)
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: "_txlock=immediate&_pragma=busy_timeout(10000)"}
	r.db, err = sql.Open("sqlite", u.String())
	require.NoError(t, err)
	t.Cleanup(func() {
		r.unlock()
		require.NoError(t, r.db.Close())
		require.NoError(t, r.record.Close())
	})
	r.start()
	return r
}

func (r *deliveryRig) start() {
	r.Helper()
	r.started = time.Now()
	r.child = startChild(r.T, "TestKilledMidDelivery_EveryRowIsSentOnceAndInOrder", r.dir, r.outside.url)
}

func (r *deliveryRig) eventually(what string, ok func() bool) {
	r.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			r.Fatalf("within a minute it never happened that %s", what)
		}
	}
}

// one returns the number that a query on the record counts.
func (r *deliveryRig) one(query string, args ...any) (n int) {
	r.Helper()
	require.NoError(r, r.db.QueryRow(query, args...).Scan(&n))
	return n
}

// say gives PicoBot a message and returns what the offline model will answer.
func (r *deliveryRig) say(chatID, text string) string {
	r.Helper()
	m := said{chatID, fmt.Sprint("m", len(r.said)), text}
	r.said = append(r.said, m)
	require.NoError(r, r.child.write(m.chat, m.id, m.text))
	return "echo: " + text
}

// sayAgain repeats all that was said, as a channel does that got no receipt.
func (r *deliveryRig) sayAgain() {
	r.Helper()
	for _, m := range r.said {
		require.NoError(r, r.child.write(m.chat, m.id, m.text))
	}
}

// lock keeps the child from writing the record.
func (r *deliveryRig) lock() {
	tx, err := r.db.Begin()
	if err != nil {
		r.Errorf("lock the record: %v", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release = func() { _ = tx.Rollback() }
}

func (r *deliveryRig) locked() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.release != nil
}

func (r *deliveryRig) unlock() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.release != nil {
		r.release()
		r.release = nil
	}
}

// kill kills the child, and the record must be sound.
func (r *deliveryRig) kill() {
	r.Helper()
	require.True(r, r.child.kill(), "the process ended by itself: %s", &r.child.output)
	r.unlock()
	r.sound()
}

func (r *deliveryRig) sound() {
	r.Helper()
	bad, err := strict.Record(r.db)
	require.NoError(r, err)
	require.Empty(r, bad)
}

// row is the outbox row of an answer.
func (r *deliveryRig) row(content string) store.Outbound {
	r.Helper()
	var id string
	require.NoError(r, r.db.QueryRow(`SELECT id FROM outbound_messages WHERE content = ?`, content).Scan(&id))
	o, err := r.record.Outbound(r.Context(), id)
	require.NoError(r, err)
	return o
}

// settle waits until everything that was said is answered and delivered, and checks it.
func (r *deliveryRig) settle() {
	r.Helper()
	r.eventually("everything is accepted, answered and delivered", func() bool {
		return r.one(`SELECT count(*) FROM inbound_messages`) == len(r.said) &&
			r.one(`SELECT count(*) FROM turns WHERE status IN ('queued', 'running')`) == 0 &&
			r.one(`SELECT count(*) FROM outbound_messages WHERE status = 'pending'`) == 0
	})
	r.took = append(r.took, time.Since(r.started))
	r.sound()
	require.Equal(r, len(r.said), r.one(`SELECT count(*) FROM outbound_messages WHERE status = 'sent'`))
	require.Equal(r, len(r.said), r.one(`SELECT count(DISTINCT turn_id) FROM outbound_messages`))
	chats := map[string][]string{}
	for _, m := range r.said {
		chats[m.chat] = append(chats[m.chat], "echo: "+m.text)
	}
	for chatID, want := range chats {
		var got []string
		for _, m := range r.outside.sees(chatID) {
			got = append(got, m.Content)
			row := r.row(m.Content)
			require.Equal(r, row.ID, m.UUID)
			require.Equal(r, r.outside.id(row), row.ExternalID)
		}
		require.Equal(r, want, got, "what people see in %s", chatID)
	}
}

// A message to a chat is a row of the outbox. Wherever the process dies on the way to
// the service, the next one sends every row, in order per chat, and people see each
// message once.
func TestKilledMidDelivery_EveryRowIsSentOnceAndInOrder(t *testing.T) {
	if os.Getenv(envChildDir) != "" {
		serveAsChild(t)
		return
	}
	r := newDeliveryRig(t)
	points := []struct {
		name    string
		fault   fault
		seen    bool // people see the message when the process dies
		deletes bool // Temporal's files are lost, too
	}{
		{name: "before it is sent", fault: hangs(asksToken)},
		{name: "the service has it and has not answered", fault: hangs(arrived)},
		{name: "the service shows it and has not answered", fault: hangs(shown), seen: true},
		{name: "it is sent and not marked", fault: first(shown, r.lock), seen: true},
		{name: "Temporal's files are lost", fault: hangs(shown), seen: true, deletes: true},
	}
	rounds := max(len(points), *deliveryKills-*deliveryKills/3)
	for i := range rounds {
		p := points[i%len(points)]
		chatID, token := fmt.Sprint("oc_", i%2), fmt.Sprint("p", i)
		hit := "echo: " + token + " one"
		r.outside.arrange(hit, p.fault)
		require.Equal(t, hit, r.say(chatID, token+" one"))
		r.eventually(p.name, func() bool { return r.outside.hung(hit) || r.locked() })
		if r.locked() {
			time.Sleep(50 * time.Millisecond) // the answer has arrived by then, or is on its way
		} else {
			// What comes after it waits for it, in its own chat only.
			r.say(chatID, token+" two")
			r.say(chatID, token+" three")
			other := r.say("oc_other", token+" other")
			r.eventually("the other chat's is delivered and its own wait", func() bool {
				return r.one(`SELECT count(*) FROM outbound_messages WHERE content = ? AND status = 'sent'`, other) == 1 &&
					r.one(`SELECT count(*) FROM outbound_messages WHERE status = 'pending'`) == 3
			})
		}
		r.kill()
		require.Equal(t, "pending", r.row(hit).Status)
		sees := r.outside.sees(chatID)
		require.Equal(t, p.seen, len(sees) > 0 && sees[len(sees)-1].Content == hit, "what people see when it dies: %v", sees)
		if p.deletes {
			require.NoError(t, os.RemoveAll(filepath.Join(r.dir, "temporal")))
		}
		r.start()
		r.settle()
		require.Equal(t, map[bool]int{false: 1, true: 2}[p.fault.at != asksToken], r.outside.sent(hit), "%s: how often it was sent", p.name)
	}
	for i := range max(2, *deliveryKills/3) {
		for j := range 6 {
			chatID, text := fmt.Sprint("oc_", r.rand.IntN(3)), fmt.Sprintf("r%d %d", i, j)
			r.outside.arrange("echo: "+text, r.someFaults()...)
			r.say(chatID, text)
		}
		time.Sleep(time.Duration(r.rand.Int64N(int64(1500 * time.Millisecond))))
		r.kill()
		r.start()
		r.sayAgain()
		if r.rand.IntN(2) == 0 {
			r.settle()
		}
	}
	r.settle()
	t.Logf("%d messages in %d lives; delivered after a start within %v", len(r.said), rounds+max(2, *deliveryKills/3)+1, r.took)
}

// someFaults are what may happen to one message before it is sent at last.
func (r *deliveryRig) someFaults() []fault {
	var out []fault
	for range r.rand.IntN(3) {
		at := stage(r.rand.IntN(3))
		switch r.rand.IntN(3) {
		case 0:
			out = append(out, fails(at))
		case 1:
			out = append(out, losesResponse(at))
		default:
			out = append(out, isSlow(at, time.Duration(r.rand.Int64N(int64(300*time.Millisecond)))))
		}
	}
	return out
}
