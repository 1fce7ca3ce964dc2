package crash

import (
	"database/sql"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"picobot/internal/protocol"
	"picobot/internal/testkit/fakeopenai"
	"picobot/internal/testkit/harness"
)

var (
	kills = flag.Int("kills", 18, "how often the crash suite kills PicoBot; 100 and more is the long version")
	seed  = flag.Uint64("seed", 0, "of everything random; 0 = another one each time")
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := harness.Main(m)
	if long() {
		fmt.Print(total)
	}
	os.Exit(code)
}

// long reports whether the long version was asked for.
func long() bool { return *kills >= 100 }

// rig is one installation that is killed over and over: its model is a fake that knows
// who asked it what and when, and its tools leave marks in a file.
type rig struct {
	testing.TB
	h     *harness.Harness
	g     *harness.Gateway
	model *fakeopenai.Server
	rand  *rand.Rand
	db    *sql.DB // the record, for reading

	mu       sync.Mutex
	life     int                      // how often PicoBot was started
	plans    map[string]plan          // by token of the message
	asked    map[string][]int         // "token.step": in which lives the model was asked for it
	wrong    []string                 // what the model saw that must not be
	messages []*message               // all that were sent
	claimed  map[string]bool          // "token.step.position" of tool runs that were claimed when something was killed
	cut      map[string]bool          // those of them that nobody was left to end
	released map[string]func()        // give the locks of databases back
	loose    bool                     // kill somewhere near the point: nothing holds PicoBot there
	healthy  time.Time                // since when the present life is well
	starts   []time.Duration          // from exec to well
	recovery []time.Duration          // from well to the end of the turn that was hit
	hits     map[string][2]int        // by point: how often the record at rest showed it, of how many
	sockets  map[string]*harness.Conn // of this life, by chat
	seen     map[string][]int64       // the rows that clients were shown, by chat, over all lives
	beside   []int                    // processes that live on beside PicoBot
	killed   int                      // how often a process was killed
}

// plan is what the model says to a message, step by step. n counts the requests for
// the step, from 1.
type plan []func(n int) fakeopenai.Step

// message is one that was sent, and what is to become of it.
type message struct {
	chat, token string
	want        string // status its turn must end with; "" = completed or cancelled
	accepted    bool
}

func newRig(t testing.TB) *rig {
	t.Helper()
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", s)
	r := &rig{TB: t, h: harness.New(t), rand: rand.New(rand.NewPCG(s, 0)), plans: map[string]plan{},
		asked: map[string][]int{}, claimed: map[string]bool{}, cut: map[string]bool{}, released: map[string]func(){}, hits: map[string][2]int{}, seen: map[string][]int64{}}
	r.model = fakeopenai.Start(t, fakeopenai.Config{})
	r.model.Handle(r.answer)
	r.h.Configure(map[string]any{
		"providers": map[string]any{"fake": map[string]any{"base_url": r.model.URL(), "api_key": r.model.Key()}},
		"models":    map[string]any{"main": map[string]any{"provider": "fake", "model": "fake-model", "context_window_tokens": 12_000}}, // so that sessions are compacted on the way
	})
	t.Cleanup(func() {
		r.unlockAll()
		total.add(r)
	})
	return r
}

// answer is the fake model: it plays the message's plan, and watches.
func (r *rig) answer(req fakeopenai.Request) fakeopenai.Step {
	switch system := req.System(); { // work beside the turns
	case strings.HasPrefix(system, "You name conversations"):
		return fakeopenai.Reply{Text: "Work of a long day"}
	case strings.HasPrefix(system, "You compress"):
		return fakeopenai.Reply{Text: "they worked"}
	}
	token, _, _ := strings.Cut(req.LastUser(), " ")
	step := 1
	for _, m := range slices.Backward(req.Messages) {
		if m.Role == "user" {
			break
		}
		if m.Role == "assistant" {
			step++
		}
	}
	key := fmt.Sprintf("%s.%d", token, step)
	answered := r.one(`SELECT 1 FROM inbound_messages i JOIN messages m ON m.turn_id = i.turn_id AND m.role = 'assistant' AND m.step = ?
		WHERE i.external_id = ?`, step, token) != ""
	r.mu.Lock()
	if answered {
		r.wrong = append(r.wrong, key+": the model is asked for a step that has its row")
	}
	if slices.Contains(r.asked[key], r.life) {
		r.wrong = append(r.wrong, key+": the model is asked twice in one life")
	}
	r.asked[key] = append(r.asked[key], r.life)
	n, p := len(r.asked[key]), r.plans[token]
	if step > len(p) {
		r.wrong = append(r.wrong, key+": the model is asked after its last answer")
	}
	r.mu.Unlock()
	if step > len(p) {
		return nil
	}
	return p[step-1](n)
}

// times says how often the model was asked for a step.
func (r *rig) times(token string, step int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asked[fmt.Sprintf("%s.%d", token, step)])
}

// start starts PicoBot and waits until it is well.
func (r *rig) start() {
	r.Helper()
	r.newLife()
	begun := time.Now()
	r.g = r.h.StartGateway()
	r.healthy = time.Now()
	r.disconnect()
	r.starts = append(r.starts, r.healthy.Sub(begun))
	if r.db == nil {
		r.mu.Lock()
		r.db = r.h.DB()
		r.mu.Unlock()
	}
}

// newLife must be called before each start.
func (r *rig) newLife() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.life++
}

// kill kills PicoBot and looks at what it left: a sound record and no process. It
// reports whether PicoBot had not ended by itself before.
func (r *rig) kill() bool {
	r.Helper()
	r.g.Kill9()
	r.unlockAll()
	r.rest()
	if r.g.Killed() {
		r.killed++
	}
	return r.g.Killed()
}

// rest looks at the record while nothing runs.
func (r *rig) rest() {
	r.Helper()
	for _, label := range r.noteClaimed() {
		r.cut[label] = true
	}
	r.sound()
	deadline := time.Now().Add(10 * time.Second)
	for {
		left := r.h.Remains(r.beside...)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			r.Fatalf("left running by a dead PicoBot:\n%s", strings.Join(left, "\n"))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// noteClaimed remembers the calls that a kill may interrupt, and returns them.
func (r *rig) noteClaimed() []string {
	r.Helper()
	labels := r.h.Record(`SELECT i.external_id || '.' || x.step || '.' || x.position FROM tool_runs x JOIN inbound_messages i ON i.turn_id = x.turn_id WHERE x.status = 'claimed'`)
	for _, label := range labels {
		r.claimed[label] = true
	}
	return labels
}

func (r *rig) sound() {
	r.Helper()
	if bad := r.h.Unsound(); len(bad) > 0 {
		r.Errorf("the record is unsound:\n%s", strings.Join(bad, "\n"))
	}
}

// The databases of an installation.
const (
	theRecord   = "storage/sessions.db"
	theTemporal = "temporal/temporal.db"
)

// database opens one of the installation's databases.
func (r *rig) database(name, query string) (*sql.DB, error) {
	path := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.Join(r.h.Home, filepath.FromSlash(name))}).EscapedPath(), RawQuery: query}
	return sql.Open("sqlite", path.String())
}

// lock keeps everybody else from writing a database until it is unlocked. With the
// record locked, what PicoBot has in its hands stays there; with Temporal's locked,
// nothing goes on that is not going on already. So whoever kills can take their time.
func (r *rig) lock(name string) {
	db, err := r.database(name, "_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		r.Errorf("lock %s: %v", name, err)
		return
	}
	tx, err := db.Begin()
	if err != nil {
		_ = db.Close()
		r.Errorf("lock %s: %v", name, err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.released[name] = func() { _ = tx.Rollback(); _ = db.Close() }
}

func (r *rig) locked(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.released[name] != nil
}

func (r *rig) unlock(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if release := r.released[name]; release != nil {
		release()
		delete(r.released, name)
	}
}

func (r *rig) unlockAll() {
	r.unlock(theRecord)
	r.unlock(theTemporal)
}

// hold has Temporal stand still from now on, unless the kill is to be a loose one.
func (r *rig) hold() {
	if !r.loose && !r.locked(theTemporal) {
		r.lock(theTemporal)
	}
}

// open reports whether Temporal's files show an open run of the message's session.
// PicoBot is not running.
func (r *rig) open(m *message) bool {
	r.Helper()
	db, err := r.database(theTemporal, "mode=ro&_pragma=query_only(ON)")
	r.must(err)
	defer db.Close()
	const completed = 3 // enums.WORKFLOW_EXECUTION_STATE_COMPLETED of the server
	var n int
	r.must(db.QueryRow(`SELECT count(*) FROM current_executions WHERE workflow_id = ? AND state <> ?`, r.run(m), completed).Scan(&n))
	return n > 0
}

// one returns the first value of a query on the record, "" when there is none.
func (r *rig) one(query string, args ...any) string {
	r.mu.Lock()
	db := r.db
	r.mu.Unlock()
	var v sql.NullString
	if err := db.QueryRow(query, args...).Scan(&v); err != nil && err != sql.ErrNoRows {
		r.Errorf("%s: %v", query, err)
	}
	return v.String
}

// until waits, looking all the time, so that whoever kills next does it at once.
func (r *rig) until(what string, ok func() bool) {
	r.Helper()
	patience := harness.Patience
	if len(r.beside) > 0 {
		patience *= 3 // nothing proves that the dead are dead: heartbeats have to time out
	}
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			r.Fatalf("this did not happen within %s: %s", patience, what)
		}
		time.Sleep(500 * time.Microsecond)
	}
}

// jitter waits for up to most.
func (r *rig) jitter(most time.Duration) { time.Sleep(r.upTo(most)) }

func (r *rig) upTo(most time.Duration) time.Duration {
	return time.Duration(r.rand.Int64N(int64(most) + 1))
}

// disconnect forgets the connections of a former life, but not what they showed.
func (r *rig) disconnect() {
	for chat, ws := range r.sockets {
		ws.Drop()
		r.seen[chat] = shown(r.seen[chat], ws)
	}
	r.sockets = map[string]*harness.Conn{}
}

// shown adds to the rows that were seen those that a connection has shown.
func shown(seen []int64, ws *harness.Conn) []int64 {
	for _, m := range harness.Of[protocol.Message](ws) {
		seen = append(seen[:len(seen):len(seen)], m.Seq)
	}
	return seen
}

// delivered checks that a chat's client, which came back after each kill and asked for
// what came after the last row it had, was shown every row once and in order.
func (r *rig) delivered(chat string) {
	r.Helper()
	want := r.h.Record(`SELECT m.seq FROM messages m JOIN sessions s ON s.id = m.session_id WHERE s.chat_id = ? AND m.role <> 'system' AND m.origin_seq IS NULL ORDER BY m.seq`, chat)
	ws := r.socket(chat)
	var got []int64
	r.until("the rows of "+chat+" are shown", func() bool {
		got = shown(r.seen[chat], ws)
		return len(got) >= len(want)
	})
	if fmt.Sprint(got) != "["+strings.Join(want, " ")+"]" {
		r.Errorf("%s was shown the rows %v, the record has %v", chat, got, want)
	}
}

// socket is a chat's connection in this life.
func (r *rig) socket(chat string) *harness.Conn {
	r.Helper()
	ws, ok := r.sockets[chat]
	if !ok {
		ws = r.g.WS(r)
		from := int64(0)
		if seen := r.seen[chat]; len(seen) > 0 {
			from = seen[len(seen)-1]
		}
		ws.Hello(protocol.Hello{ClientID: chat, FromSeq: &from})
		r.sockets[chat] = ws
	}
	return ws
}

// write sends a message without waiting for anything.
func (r *rig) write(chat, token, want string, p plan) *message {
	r.Helper()
	r.mu.Lock()
	r.plans[token] = p
	r.mu.Unlock()
	m := &message{chat: chat, token: token, want: want}
	r.messages = append(r.messages, m)
	r.socket(chat).Write(protocol.UserMessage{ID: token, Content: token + " please"})
	return m
}

// send sends a message and waits until it is accepted.
func (r *rig) send(chat, token, want string, p plan) *message {
	r.Helper()
	m := r.write(chat, token, want, p)
	r.accept(m)
	return m
}

func (r *rig) accept(m *message) {
	r.Helper()
	harness.Expect(r.socket(m.chat), "accepted "+m.token, func(a protocol.Accepted) bool { return a.ID == m.token })
	m.accepted = true
}

// resend sends what was never accepted once more, as a client does that lost its
// connection, and something accepted too: it must be known.
func (r *rig) resend() {
	r.Helper()
	for _, m := range r.messages {
		if !m.accepted {
			r.socket(m.chat).Write(protocol.UserMessage{ID: m.token, Content: m.token + " please"})
			r.accept(m)
		}
	}
}

// status is that of a message's turn; "" when the message is not in the record.
func (r *rig) status(m *message) string {
	return r.one(`SELECT t.status FROM turns t JOIN inbound_messages i ON i.id = t.inbound_id WHERE i.external_id = ?`, m.token)
}

func (r *rig) ended(m *message) bool {
	s := r.status(m)
	return s == "completed" || s == "failed" || s == "cancelled"
}

// recovered waits for the end of a turn that a kill hit and notes how long after the
// restart that was.
func (r *rig) recovered(m *message) {
	r.Helper()
	r.until("the turn of "+m.token+" ends", func() bool { return r.ended(m) })
	var at int64
	if _, err := fmt.Sscan(r.one(`SELECT finished_at FROM inbound_messages WHERE external_id = ?`, m.token), &at); err != nil {
		r.Fatal(err)
	}
	r.recovery = append(r.recovery, max(0, time.UnixMilli(at).Sub(r.healthy)))
}

// with lists the messages whose turns have one of these statuses.
func (r *rig) with(statuses ...string) []*message {
	var out []*message
	for _, m := range r.messages {
		if slices.Contains(statuses, r.status(m)) {
			out = append(out, m)
		}
	}
	return out
}

// settle waits for the end of every turn and checks all that is promised.
func (r *rig) settle() {
	r.Helper()
	r.until("every turn ends", func() bool { return r.one(`SELECT 1 FROM turns WHERE status IN ('queued', 'running') LIMIT 1`) == "" })
	r.check()
}

// check checks every message that was sent; all turns have ended.
func (r *rig) check() {
	r.Helper()
	r.sound()
	for _, m := range r.messages {
		got := r.status(m)
		if got != m.want && (m.want != "" || got != "completed" && got != "cancelled") {
			r.Errorf("%s: its turn is %q, want %q; %s", m.token, got, m.want, r.one(`SELECT t.error FROM turns t JOIN inbound_messages i ON i.id = t.inbound_id WHERE i.external_id = ?`, m.token))
		}
	}
	chats := map[string]bool{}
	for _, m := range r.messages {
		if !chats[m.chat] {
			chats[m.chat] = true
			r.delivered(m.chat)
		}
	}
	marks := map[string]int{}
	text, err := os.ReadFile(filepath.Join(r.h.Workspace(), "effects"))
	if err != nil && !os.IsNotExist(err) {
		r.Fatal(err)
	}
	for _, label := range strings.Fields(string(text)) {
		marks[label]++
	}
	for _, run := range r.h.Record(`SELECT i.external_id || '.' || x.step || '.' || x.position, x.status, x.result FROM tool_runs x JOIN inbound_messages i ON i.turn_id = x.turn_id WHERE x.name = 'bash'`) {
		label, rest, _ := strings.Cut(run, "|")
		status, result, _ := strings.Cut(rest, "|")
		n := marks[label]
		delete(marks, label)
		switch {
		case n > 1:
			r.Errorf("%s acted %d times", label, n)
		case status == "completed" && n != 1:
			r.Errorf("%s is completed and acted %d times", label, n)
		case status != "unknown" && r.cut[label]:
			r.Errorf("%s was cut off and is %s: %s", label, status, result)
		case status == "unknown" && !r.claimed[label]:
			r.Errorf("%s has an unknown outcome and was never interrupted", label)
		case (status == "unknown") != strings.HasPrefix(result, "Unknown outcome:"):
			r.Errorf("%s is %s and says %q", label, status, result)
		}
	}
	for label, n := range marks {
		r.Errorf("%s acted %d times and the record knows nothing of it", label, n)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.wrong {
		r.Error(w)
	}
	r.wrong = nil
	for _, why := range r.model.Refused() {
		r.Errorf("the provider refused a request: %s", why)
	}
}

// count adds to how often a point was hit, of how many kills.
func (r *rig) count(point string, hit, of int) {
	n := r.hits[point]
	r.hits[point] = [2]int{n[0] + hit, n[1] + of}
}

// report logs what was measured.
func (r *rig) report() {
	r.Helper()
	for _, name := range slices.Sorted(maps.Keys(r.hits)) {
		r.Logf("%-45s hit %d of %d", name, r.hits[name][0], r.hits[name][1])
	}
	r.Logf("start until well:   %s", spread(r.starts))
	r.Logf("well until answered: %s", spread(r.recovery))
}

// spread says how durations are distributed.
func spread(ds []time.Duration) string {
	if len(ds) == 0 {
		return "nothing measured"
	}
	ds = slices.Sorted(slices.Values(ds))
	at := func(q float64) time.Duration {
		return ds[min(len(ds)-1, int(q*float64(len(ds))))].Round(time.Millisecond)
	}
	return fmt.Sprintf("median %s, p95 %s, most %s (%d)", at(0.5), at(0.95), at(1), len(ds))
}

// say is the last step of a plan.
func say(text string) func(int) fakeopenai.Step {
	return func(int) fakeopenai.Step { return fakeopenai.Reply{Text: text} }
}

// ask has the model ask for tools.
func ask(calls ...fakeopenai.ToolCall) func(int) fakeopenai.Step {
	return func(int) fakeopenai.Step { return fakeopenai.Reply{ToolCalls: calls} }
}

// first has the first request for a step treated in another way than later ones.
func first(step fakeopenai.Step, later func(int) fakeopenai.Step) func(int) fakeopenai.Step {
	return func(n int) fakeopenai.Step {
		if n == 1 {
			return step
		}
		return later(n)
	}
}

// held is a step whose first answer PicoBot gets but cannot write down.
func (r *rig) held(step func(int) fakeopenai.Step) func(int) fakeopenai.Step {
	return r.locking(theRecord, step)
}

// untold is a step whose first answer PicoBot writes down but cannot tell Temporal of.
func (r *rig) untold(step func(int) fakeopenai.Step) func(int) fakeopenai.Step {
	if r.loose {
		return step
	}
	return r.locking(theTemporal, step)
}

func (r *rig) locking(name string, step func(int) fakeopenai.Step) func(int) fakeopenai.Step {
	return func(n int) fakeopenai.Step {
		if n == 1 {
			r.lock(name)
		}
		return step(n)
	}
}

// act is a call of bash that leaves its mark, once, and then does more.
func act(token string, step, position int, more string) fakeopenai.ToolCall {
	return fakeopenai.ToolCall{ID: fmt.Sprintf("call_%s_%d_%d", token, step, position), Name: "bash",
		Arguments: fmt.Sprintf(`{"command":"echo %s.%d.%d >> effects%s"}`, token, step, position, more)}
}

// untilLet goes behind act: the command ends once it is let.
func untilLet(token string) string { return "; until [ -e let." + token + " ]; do sleep 0.01; done" }

func (r *rig) let(token string) {
	r.Helper()
	r.h.WriteFile(filepath.Join(r.h.Workspace(), "let."+token), "")
}

// look is a call that acts nowhere.
func look(token string, step, position int) fakeopenai.ToolCall {
	return fakeopenai.ToolCall{ID: fmt.Sprintf("call_%s_%d_%d", token, step, position), Name: "calculator", Arguments: `{"expression":"6*7"}`}
}
