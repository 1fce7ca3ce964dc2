package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"picobot/store"
)

// outside is a service that messages are sent to. It is what Feishu is: it wants to be
// asked for a token first, shows a message once however often its uuid comes, and may
// hang, fail or lose its response at any moment.
type outside struct {
	url string

	mu     sync.Mutex
	shown  map[string][]outsideMessage // by chat, in the order people see them
	ids    map[string]string           // by uuid
	faults map[string][]fault          // by content, the next one first
	stuck  map[string]int              // by content: requests that hang or have hung
	asked  map[string]int              // by content: how often it was sent
}

type outsideMessage struct {
	UUID    string `json:"uuid"`
	Chat    string `json:"chat"`
	Content string `json:"content"`
}

// stage is how far a sending has got.
type stage int

const (
	asksToken stage = iota // nothing was sent
	arrived                // the service has the message, nobody sees it
	shown                  // everybody sees it, the sender does not know
)

// fault happens to one request, at its stage. It reports whether the request goes on.
type fault struct {
	at stage
	do func(o *outside, m outsideMessage, w http.ResponseWriter, r *http.Request) bool
}

func newOutside(t *testing.T) *outside {
	o := &outside{shown: map[string][]outsideMessage{}, ids: map[string]string{}, faults: map[string][]fault{}, stuck: map[string]int{}, asked: map[string]int{}}
	server := httptest.NewServer(o)
	t.Cleanup(server.Close)
	o.url = server.URL
	return o
}

func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m outsideMessage
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.UUID == "" {
		http.Error(w, "a message has a uuid", http.StatusBadRequest)
		return
	}
	if r.URL.Path == "/token" {
		o.goesOn(asksToken, m, w, r)
		return
	}
	o.mu.Lock()
	o.asked[m.Content]++
	o.mu.Unlock()
	if !o.goesOn(arrived, m, w, r) {
		return
	}
	id := o.show(m)
	if o.goesOn(shown, m, w, r) {
		_ = json.NewEncoder(w).Encode(map[string]string{"id": id}) // nobody to tell when the sender is gone
	}
}

// goesOn applies the message's next fault if it is one of this stage.
func (o *outside) goesOn(at stage, m outsideMessage, w http.ResponseWriter, r *http.Request) bool {
	o.mu.Lock()
	waiting := o.faults[m.Content]
	if len(waiting) == 0 || waiting[0].at != at {
		o.mu.Unlock()
		return true
	}
	o.faults[m.Content] = waiting[1:]
	o.mu.Unlock()
	return waiting[0].do(o, m, w, r)
}

func (o *outside) show(m outsideMessage) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.ids[m.UUID]; !known {
		o.ids[m.UUID] = fmt.Sprintf("om_%d", len(o.ids))
		o.shown[m.Chat] = append(o.shown[m.Chat], m)
	}
	return o.ids[m.UUID]
}

// sees lists what people see in a chat.
func (o *outside) sees(chat string) []outsideMessage {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]outsideMessage(nil), o.shown[chat]...)
}

func (o *outside) sent(content string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked[content]
}

func (o *outside) hung(content string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stuck[content] > 0
}

// id is the service's own id of what it shows for a row.
func (o *outside) id(row store.Outbound) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ids[row.ID]
}

// arrange has faults happen to the sendings of a message, one to each.
func (o *outside) arrange(content string, faults ...fault) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.faults[content] = faults
}

// hangs never answers.
func hangs(at stage) fault {
	return fault{at, func(o *outside, m outsideMessage, _ http.ResponseWriter, r *http.Request) bool {
		o.mu.Lock()
		o.stuck[m.Content]++
		o.mu.Unlock()
		<-r.Context().Done() // the sender died
		return false
	}}
}

func fails(at stage) fault {
	return fault{at, func(_ *outside, _ outsideMessage, w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "try again", http.StatusBadGateway)
		return false
	}}
}

// losesResponse cuts the connection.
func losesResponse(at stage) fault {
	return fault{at, func(*outside, outsideMessage, http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }}
}

func isSlow(at stage, by time.Duration) fault {
	return fault{at, func(*outside, outsideMessage, http.ResponseWriter, *http.Request) bool { time.Sleep(by); return true }}
}

// first does something else before the request goes on.
func first(at stage, do func()) fault {
	return fault{at, func(*outside, outsideMessage, http.ResponseWriter, *http.Request) bool { do(); return true }}
}
