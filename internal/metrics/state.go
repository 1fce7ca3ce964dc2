package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// State is how things are at the moment of a scrape.
type State struct {
	QueuedTurns    int64
	PendingOutbox  int64
	ActiveSessions int64
	Connections    int
	ScheduleLag    time.Duration
	Up             map[string]bool // by part: store, temporal, worker
}

type state struct {
	queue, outbox, sessions, connections, lag prometheus.Gauge
}

func newState(m *Metrics) state {
	one := func(name, help string) prometheus.Gauge { return m.gauge(name, help).WithLabelValues() }
	return state{
		queue:       one("picobot_queue_depth", "Turns that were accepted and have not begun."),
		outbox:      one("picobot_outbox_pending", "Messages that wait to be sent to a chat."),
		sessions:    one("picobot_sessions_active", "Sessions with activity of late."),
		connections: one("picobot_ws_connections", "Open WebSockets."),
		lag:         one("picobot_schedule_lag_seconds", "How late the scheduled job is that waits longest."),
	}
}

// Set shows how things are.
func (m *Metrics) Set(s State) {
	m.state.queue.Set(float64(s.QueuedTurns))
	m.state.outbox.Set(float64(s.PendingOutbox))
	m.state.sessions.Set(float64(s.ActiveSessions))
	m.state.connections.Set(float64(s.Connections))
	m.state.lag.Set(s.ScheduleLag.Seconds())
	m.Up(s.Up)
}
