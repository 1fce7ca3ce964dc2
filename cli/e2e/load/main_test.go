package load

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"picobot/internal/protocol"
	"picobot/internal/testkit/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// rig is a gateway under load.
type rig struct {
	testing.TB
	h     *harness.Harness
	g     *harness.Gateway
	token string
	round int // of chats and floods, for names that are new each time
}

// start starts a gateway. When the test ends, whatever happened in it, the gateway
// must be well, with a sound record and without a panic in its log.
func start(t testing.TB, sections map[string]any) *rig {
	t.Helper()
	r := &rig{TB: t, h: harness.New(t)}
	r.h.Configure(sections)
	r.g = r.h.StartGateway()
	r.token = r.h.Token()
	r.report("after the start")
	return r
}

// well checks what must hold after every kind of load.
func (r *rig) well() {
	r.Helper()
	if !r.g.Running() {
		r.Fatalf("the gateway ended: %s", r.g.Stderr)
	}
	r.h.Eventually("the gateway is well", func() bool {
		status, health := r.g.Health()
		return status == http.StatusOK && health["status"] == "ok"
	})
	for _, line := range r.g.Stderr.Lines() {
		if strings.Contains(line, "panic") {
			r.Errorf("the gateway's log tells of a panic: %.2000s", line)
		}
	}
	if bad := r.h.Unsound(); len(bad) > 0 {
		r.Errorf("the record is not sound: %q", bad)
	}
	c := r.must(r.dial(r.Context(), protocol.Hello{ClientID: "after"}))
	defer c.drop()
	if _, err := c.ask("still there?"); err != nil {
		r.Errorf("a turn after the load: %v", err)
	}
}

func (r *rig) must(c *client, err error) *client {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
	return c
}
