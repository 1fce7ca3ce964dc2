package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/live"
	"picobot/internal/llm"
	"picobot/internal/prompt"
	"picobot/internal/text"
	"picobot/internal/tools"
	"picobot/store"
)

// Agent is what an agent's configuration says.
type Agent struct {
	Models            []string // names in the config: the model, then its fallbacks
	MaxToolIterations int      // model steps with tools in one turn
	MaxParallelTools  int
}

// Agents knows the configured agents. An unknown name is answered with the
// default agent, so that removing one from the config bricks no session.
type Agents interface{ Agent(name string) Agent }

// Models knows the configured models.
type Models interface {
	Model(name string) (p llm.Provider, m llm.Model, windowTokens int, err error)
}

// Sender sends messages to the chats of one channel.
type Sender interface {
	// Send sends a message once per o.ID, however often it is called, and returns the
	// channel's id of it. Errors that no other try can help wrap ErrRefused; a
	// message that waits for somebody to be there is ErrNobodyThere.
	Send(ctx context.Context, o store.Outbound) (externalID string, err error)
}

// Preparer fetches what messages of one channel only point at: files, images, the
// message that is answered.
type Preparer interface {
	// Prepare returns the message as it is told to a model. On the last attempt it does
	// without what it cannot get, says so in the content, and does not fail.
	Prepare(ctx context.Context, m store.InboundMessage, last bool) (content string, media []chat.MediaRef, err error)
}

// Deps are what activities work with.
type Deps struct {
	Record  *store.Store
	Models  Models
	Agents  Agents
	Tools   *tools.Registry
	Prompt  prompt.AgentFile
	Senders map[string]Sender // by channel
	// Preparers fetch what messages of a channel only point at.
	Preparers map[string]Preparer // by channel
	Hub       *live.Hub
	Texts     *text.Catalogue
	Cleanup   Cleanup
	Now       func() time.Time
	Logger    *slog.Logger
	// Mask replaces secrets in a text meant for Temporal's history.
	Mask func(string) string
	// Keep stores a tool result where the model can read it, and returns the path.
	Keep func(call tools.Call, tool, content string) (path string, err error)
	// Media reads the attachments of messages.
	Media Media
	// Index is a list for the model that goes into each request and is no row: its
	// skills. It may be nil, and its answer "".
	Index func(ctx context.Context) string
	// Scheduler says how jobs are run.
	Scheduler Scheduler
	// Summaries: whether contents (cut short) may be shown in Temporal's UI.
	Summaries bool
	// Zone is what days are told in; nil = the machine's.
	Zone *time.Location
	// ReinjectEvery: after how many user turns a changed AGENT.md is written again.
	ReinjectEvery int
	// MaintenanceEnabled: whether memories are tidied at all.
	MaintenanceEnabled bool
	// Compaction says when sessions are compacted.
	Compaction Compaction
	// TitleAfter: after how many user messages a model names a session; 0 = never.
	TitleAfter int
}

// Compaction is how sessions are compacted.
type Compaction struct {
	Threshold float64 // share of the model's window above which a session is compacted; 0 = never
	KeepTurns int     // the newest user turns, which stay as they are
}

// Activities are PicoBot's activities. Make them with New.
type Activities struct {
	Deps
	flights     *flights
	toolsWeight int // the tools are always the same
}

// New returns activities that work with d.
func New(d Deps) *Activities {
	if d.Zone == nil {
		d.Zone = time.Local
	}
	if d.Index == nil {
		d.Index = func(context.Context) string { return "" }
	}
	return &Activities{Deps: d, flights: newFlights(), toolsWeight: toolsWeight(d.Tools)}
}

// CancelTurn stops what this process does for the turn, at once. The request must
// be in the record before.
func (a *Activities) CancelTurn(turnID string) { a.flights.cancel(turnID, tools.ErrCancelled) }

// Shutdown tells all work of this process to stop and to write down what it has.
func (a *Activities) Shutdown() { a.flights.cancelAll(tools.ErrShutdown) }

// Register makes the activities of one task queue known to its worker.
func (a *Activities) Register(r Registries) {
	register(r.Turns, flow.BeginTurn, a.BeginTurn)
	register(r.Turns, flow.RequestCancel, a.RequestCancel)
	register(r.Turns, flow.BeginJobRun, a.BeginJobRun)
	register(r.Turns, flow.LookAtRun, a.LookAtJobRun)
	register(r.Turns, flow.StopJobRun, a.StopJobRun)
	register(r.Turns, flow.EndJobRun, a.EndJobRun)
	register(r.Turns, flow.CallModel, a.CallModel)
	register(r.Turns, flow.CleanUp, a.CleanUp)
	register(r.Turns, flow.PlanMaintenance, a.PlanMaintenance)
	register(r.Tools, flow.RunTool, a.RunTool)
	register(r.Turns, flow.Summarise, a.Summarise)
	register(r.Turns, flow.MakeTitle, a.MakeTitle)
	register(r.Deliveries, flow.CommitCompaction, a.CommitCompaction)
	register(r.Tools, flow.Prepare, a.Prepare)
	register(r.Deliveries, flow.FinishTurn, a.FinishTurn)
	register(r.Deliveries, flow.Deliver, a.Deliver)
	register(r.Deliveries, flow.NextMaintenance, a.NextMaintenance)
	register(r.Deliveries, flow.ApplyMaintenance, a.ApplyMaintenance)
	register(r.Deliveries, flow.FailMaintenance, a.FailMaintenance)
	register(r.Deliveries, flow.FinishMaintenance, a.FinishMaintenance)
}

// Registries are the workers of the task queues.
type Registries struct {
	Turns, Tools, Deliveries worker.ActivityRegistry
}

func register(r worker.ActivityRegistry, name string, fn any) {
	r.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
}
