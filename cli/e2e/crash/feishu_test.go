package crash

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"picobot/internal/testkit/fakefeishu"
	"picobot/internal/testkit/harness"
)

// feishuRig is one installation with a Feishu that people write to and that is killed.
type feishuRig struct {
	*testing.T
	h      *harness.Harness
	g      *harness.Gateway
	feishu *fakefeishu.Server
	rand   *rand.Rand
	said   []feishuSaid
}

// feishuSaid is a message and what must be in its one answer.
type feishuSaid struct{ chat, id, want string }

func newFeishuRig(t *testing.T) *feishuRig {
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", s)
	r := &feishuRig{T: t, h: harness.New(t), feishu: fakefeishu.Start(t, fakefeishu.Config{}), rand: rand.New(rand.NewPCG(s, 0))}
	r.h.Configure(map[string]any{"channels": map[string]any{"feishu": map[string]any{
		"enabled": true, "app_id": fakefeishu.AppID, "app_secret": fakefeishu.AppSecret, "domain": r.feishu.URL(), "allow_from": []string{"*"}}}})
	return r
}

// say has a person write something; however it goes on, want must be in the answer.
func (r *feishuRig) say(chat, text, want string) string {
	id := r.feishu.Say(fakefeishu.Said{ChatID: chat, Text: text})
	r.said = append(r.said, feishuSaid{chat, id, want})
	return id
}

func (r *feishuRig) count(query string) int { return len(r.h.Record(query)) }

// settle waits until everything is answered, and looks at what people see.
func (r *feishuRig) settle() {
	r.Helper()
	r.h.Eventually("everything is acknowledged, answered and delivered", func() bool {
		return r.feishu.Told().Waiting == 0 && r.count(`SELECT 1 FROM inbound_messages WHERE channel = 'feishu'`) == len(r.said) &&
			r.count(`SELECT 1 FROM turns WHERE status IN ('queued', 'running')`) == 0 && r.count(`SELECT 1 FROM outbound_messages WHERE status = 'pending'`) == 0
	})
	shown := map[string]int{}
	for _, s := range r.said {
		n := 0
		for _, m := range r.feishu.Shown(s.chat) {
			if m.ParentID != s.id {
				continue
			}
			if n++; !strings.Contains(m.Content, s.want) {
				r.Errorf("what answers %s is %s, not %q", s.id, m.Content, s.want)
			}
		}
		if n != 1 {
			r.Errorf("%d messages answer %s (%q)", n, s.id, s.want)
		}
		shown[s.chat]++
	}
	for chat, n := range shown {
		if got := len(r.feishu.Shown(chat)); got != n {
			r.Errorf("%s shows %d messages, not %d", chat, got, n)
		}
	}
	if bad := r.h.Unsound(); len(bad) > 0 {
		r.Errorf("the record: %s", strings.Join(bad, "\n"))
	}
	r.h.Eventually("no message is marked any more", func() bool {
		for _, s := range r.said {
			if len(r.feishu.Message(s.id).Reactions) > 0 {
				return false
			}
		}
		return true
	})
}

// Feishu is spoken to over a network that fails, by a process that is killed wherever
// it is: nothing is lost, and people see each answer once.
func TestFeishuKilledOnTheWayInAndOut(t *testing.T) {
	r := newFeishuRig(t)
	const reply = "/reply"
	points := []struct {
		name    string
		faults  []fakefeishu.Fault // what holds PicoBot there; none = it is killed as the message comes
		text    string
		want    string
		deletes bool // Temporal's files are lost, too
	}{
		{name: "it is just arriving", text: "hi", want: "echo: hi"},
		{name: "the answer is not sent", faults: []fakefeishu.Fault{{Path: reply, Hang: true}}, text: "hi", want: "echo: hi"},
		{name: "the answer is sent and nobody heard", faults: []fakefeishu.Fault{{Path: reply, Silent: true}}, text: "hi", want: "echo: hi"},
		{name: "the card is not there", faults: []fakefeishu.Fault{{Path: reply, Hang: true}}, text: "run sleep 2; echo ok", want: "bash"},
		{name: "the card is there and nobody heard", faults: []fakefeishu.Fault{{Path: reply, Silent: true}}, text: "run sleep 2; echo ok", want: "bash"},
		{name: "the card is not changed", faults: []fakefeishu.Fault{{Path: "/messages/", Method: http.MethodPatch, Hang: true}}, text: "run sleep 2; echo ok", want: "bash"},
		{name: "the card is changed and nobody heard", faults: []fakefeishu.Fault{{Path: "/messages/", Method: http.MethodPatch, Silent: true}}, text: "run sleep 2; echo ok", want: "bash"},
		{name: "the mark is there and nobody heard", faults: []fakefeishu.Fault{{Path: "/reactions", Silent: true}}, text: "slow 1", want: "slow"},
		{name: "Temporal's files are lost", faults: []fakefeishu.Fault{{Path: reply, Silent: true}}, text: "hi", want: "echo: hi", deletes: true},
	}
	rounds := max(len(points), *kills/4)
	for i := range rounds {
		p := points[i%len(points)]
		r.g = r.h.StartGateway()
		if i > 0 {
			r.settle()
		}
		chat := fmt.Sprint("oc_", i)
		r.feishu.Arrange(p.faults...)
		r.say(chat, p.text, p.want)
		if len(p.faults) > 0 {
			r.h.Eventually(p.name, func() bool { return r.feishu.Waiting() == 0 })
		}
		r.say(chat, fmt.Sprintf("behind %d", i), fmt.Sprintf("behind %d", i))
		time.Sleep(time.Duration(r.rand.IntN(100)) * time.Millisecond) // anywhere near
		r.g.Kill9()
		r.feishu.Repair()
		if p.deletes {
			if err := os.RemoveAll(filepath.Join(r.h.Home, "temporal")); err != nil {
				t.Fatal(err)
			}
		}
		r.say(chat, fmt.Sprintf("while it is dead %d", i), fmt.Sprintf("while it is dead %d", i))
	}
	r.g = r.h.StartGateway()
	r.settle()
	for i := range max(2, *kills/8) {
		for j := range 6 {
			chat := fmt.Sprint("oc_r", r.rand.IntN(3))
			text := fmt.Sprintf("r%d %d", i, j)
			r.feishu.Arrange(fakefeishu.Fault{Path: "/messages", Body: text + `\`, Silent: r.rand.IntN(3) == 0, Cut: true})
			r.say(chat, text, "echo: "+text)
		}
		time.Sleep(time.Duration(r.rand.IntN(1500)) * time.Millisecond)
		r.g.Kill9()
		r.feishu.Repair()
		r.g = r.h.StartGateway()
		r.settle()
	}
}
