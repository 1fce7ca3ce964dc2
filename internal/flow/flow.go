package flow

import (
	"strings"

	"go.temporal.io/sdk/temporal"

	"picobot/internal/chat"
)

// SessionWorkflowID is the id of the workflow that runs a session's turns. Temporal
// carries it in a gRPC header, which takes visible ASCII only: every other byte is
// written %XX.
func SessionWorkflowID(sessionID string) string { return "session/" + visibleASCII(sessionID) }

// CompactionWorkflowID is the id of the workflow that compacts a session.
func CompactionWorkflowID(sessionID string) string { return "compaction/" + visibleASCII(sessionID) }

// TitleWorkflowID is the id of the workflow that gives a session a title.
func TitleWorkflowID(sessionID string) string { return "title/" + visibleASCII(sessionID) }

func visibleASCII(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c > 0x20 && c < 0x7f {
			b.WriteByte(c)
		} else {
			const digits = "0123456789ABCDEF"
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String()
}

// Names of workflows and signals.
const (
	SessionWorkflow    = "Session"
	CompactionWorkflow = "Compaction"
	TitleWorkflow      = "Title"

	SignalNudge  = "nudge"  // look at the record: something may be waiting. No payload
	SignalCancel = "cancel" // the turn named in the payload is to stop
)

// Search attributes of PicoBot's workflows (Keyword).
var (
	AttributeSession = temporal.NewSearchAttributeKeyKeyword("PicobotSession")
	AttributeChannel = temporal.NewSearchAttributeKeyKeyword("PicobotChannel")
	AttributeJob     = temporal.NewSearchAttributeKeyKeyword("PicobotJob")
)

// Queues names the task queues of one installation. Slow tools must starve neither
// models nor deliveries, so each kind of work has its own slots.
type Queues struct{ Base string }

// Turns is the queue of workflow tasks and of model calls. They do not compete: a
// worker has slots for each. Being one queue lets the server give a model call to
// the worker in its answer to the workflow task that asked for it ("eager"), which
// saves a trip through the task queue with every step.
func (q Queues) Turns() string { return q.Base }

// Tools is the queue of tool runs.
func (q Queues) Tools() string { return q.Base + "-tools" }

// Deliveries is the queue of what is quick and must not wait for models or tools:
// outbound messages, and the end of turns.
func (q Queues) Deliveries() string { return q.Base + "-deliveries" }

// Names of activities.
const (
	BeginTurn     = "BeginTurn"
	CallModel     = "CallModel"
	RunTool       = "RunTool"
	FinishTurn    = "FinishTurn"
	RequestCancel = "RequestCancel"
	Deliver       = "Deliver"

	Summarise        = "Summarise"
	CommitCompaction = "CommitCompaction"
	MakeTitle        = "MakeTitle"
	Prepare          = "Prepare"
	CleanUp          = "CleanUp"
)

// SessionInput is all the state a session workflow has.
type SessionInput struct {
	SessionID string `json:"session_id"`
	Queues    Queues `json:"queues"`
	// Undelivered are outbox rows that the run before has not delivered.
	Undelivered []string `json:"undelivered,omitempty"`
	// MaxSteps ends a run with continue-as-new after that many model steps; 0 = only
	// when the server suggests it. For tests.
	MaxSteps int `json:"max_steps,omitempty"`
}

// Begun is where a turn stands, as BeginTurn found it. An empty TurnID means that
// nothing waits.
type Begun struct {
	TurnID      string   `json:"turn_id,omitempty"`
	Step        int      `json:"step,omitempty"`
	Calls       []Call   `json:"calls,omitempty"`  // open calls of Step; none = call the model
	Models      []string `json:"models,omitempty"` // names in the config: the agent's model, then its fallbacks
	Model       int      `json:"model,omitempty"`  // which of Models answered this turn last
	Keep        bool     `json:"keep,omitempty"`   // a fallback that answered stays for the turn; false in histories from before that was so
	MaxParallel int      `json:"max_parallel,omitempty"`
	Failure     Failure  `json:"failure,omitzero"`    // set when the turn cannot be run at all
	Outbound    []string `json:"outbound,omitempty"`  // the session's outbox rows that nobody has sent
	Job         string   `json:"job,omitempty"`       // the turn is a job's run: the workflow that waits for its end
	Cancelled   bool     `json:"cancelled,omitempty"` // a cancel was asked for while nobody ran it
	Prepare     bool     `json:"prepare,omitempty"`   // something of the message is to be fetched before the turn begins
}

// Call is an open tool call.
type Call struct {
	Position int    `json:"pos"`
	Name     string `json:"name"`
	Summary  string `json:"summary,omitempty"` // for people reading the Temporal UI
	// Acts is whether the call changes something: it then runs alone, in its turn.
	// Histories from before have no such calls, and replay as they ran.
	Acts bool `json:"acts,omitempty"`
}

// ModelInput names a model call.
type ModelInput struct {
	TurnID string `json:"turn_id"`
	Step   int    `json:"step"`
	Model  int    `json:"model,omitempty"` // 0 = the agent's model, n = its n-th fallback
	// Fallback is the model that is asked when this one fails for good, "" when there is
	// none: people are told who takes over.
	Fallback string `json:"fallback,omitempty"`
}

// ModelResult says what the model wants: Calls, or nothing more (the turn has ended).
type ModelResult struct {
	Calls    []Call   `json:"calls,omitempty"`
	Outbound []string `json:"outbound,omitempty"` // outbox rows to deliver
	Then     Then     `json:"then,omitzero"`
}

// Then is what the end of a turn makes due. Nothing waits for it.
type Then struct {
	Compact bool `json:"compact,omitempty"` // the session has grown large
	Title   bool `json:"title,omitempty"`   // enough was said to name the session
}

// ToolInput names a tool call.
type ToolInput struct {
	TurnID   string `json:"turn_id"`
	Step     int    `json:"step"`
	Position int    `json:"pos"`
}

// ToolResult says how a call ended; its result is in the record.
type ToolResult struct {
	Status   chat.ToolStatus `json:"status"`
	Outbound []string        `json:"outbound,omitempty"` // outbox rows to deliver
}

// FinishInput ends a turn that did not end with an answer.
type FinishInput struct {
	TurnID  string          `json:"turn_id"`
	Status  chat.TurnStatus `json:"status"`
	Failure Failure         `json:"failure,omitzero"`
	Others  []Failure       `json:"others,omitempty"` // of the models that were asked after it
}

// Attempt is one failed attempt at a model call, for those that come after it.
type Attempt struct {
	Failure Failure `json:"failure"`
	Told    bool    `json:"told,omitempty"` // people were told that the model is asked again
	More    int     `json:"more,omitempty"` // how often it asked the model again after an empty answer
}

// Failure says what went wrong, without contents.
type Failure struct {
	Code     string `json:"code"` // an llm.Kind, or one of the codes below
	Model    string `json:"model,omitempty"`
	Provider string `json:"provider,omitempty"`
	Status   int    `json:"status,omitempty"`
	Detail   string `json:"detail,omitempty"` // what the provider said, cut short, secrets masked
}

// Codes of failures that are not a model's.
const (
	CodePoisoned = "poisoned"     // begun too often without progress
	CodePrompt   = "agent_prompt" // AGENT.md cannot be used
	CodeInternal = "internal"
)

// PrepareInput names a turn of whose message something is still to be fetched.
type PrepareInput struct {
	TurnID string `json:"turn_id"`
	// Attempts is how often it is tried at most: the last one does without what it
	// cannot get.
	Attempts int `json:"attempts"`
}

// FinishResult lists what is to be delivered.
type FinishResult struct {
	Outbound []string `json:"outbound,omitempty"`
	Then     Then     `json:"then,omitzero"`
}

// BackgroundInput is all the state of a workflow that does something for a session
// beside its turns.
type BackgroundInput struct {
	SessionID string `json:"session_id"`
	Queues    Queues `json:"queues"`
}

// SummariseInput asks for the summary of a session's older rows.
type SummariseInput struct {
	SessionID string `json:"session_id"`
	// NoModel: the model failed for good, the cut transcript itself is the summary.
	NoModel bool `json:"no_model,omitempty"`
}

// Summarised names the compaction whose summary is in the record; "" = there is
// nothing to compact.
type Summarised struct {
	CompactionID string `json:"compaction_id,omitempty"`
	// Outbound are outbox rows that tell whoever asked that there will be none.
	Outbound []string `json:"outbound,omitempty"`
}

// Compacted is the end of a compaction.
type Compacted struct {
	// Outbound are outbox rows that tell whoever asked for it.
	Outbound []string `json:"outbound,omitempty"`
}

// Types of application errors that activities return.
const (
	ErrTypeModel     = "ModelError"     // details: Failure
	ErrTypeCancelled = "TurnCancelled"  // a cancel was asked for
	ErrTypeEnded     = "TurnEnded"      // the fence: somebody else ended the turn
	ErrTypeShutdown  = "WorkerShutdown" // the worker stops; try again elsewhere
	ErrTypeLost      = "AttemptLost"    // the server gave the attempt up, its work goes on
	ErrTypeRecord    = "RecordError"    // the record does not answer
	ErrTypeDelivery  = "DeliveryError"  // the channel refused for good
)
