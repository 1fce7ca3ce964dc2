package e2e

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"picobot/activities"
	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/schedule"
	"picobot/store"
)

var record = flag.String("record", "", "directory to write the histories of this build to, for workflows' replay test")

// Every kind of run the session workflow has must survive a replay of its own
// history; with -record the histories are kept for the builds to come.
func TestHistories_Replay(t *testing.T) {
	s := newStack(t)
	for name, run := range map[string]func(t *testing.T) (sessionID, runID string){
		"answer": func(t *testing.T) (string, string) {
			turn := s.await(s.say("answer", "hello"))
			return turn.SessionID, turn.RunID
		},
		"tools": func(t *testing.T) (string, string) {
			turn := s.await(s.say("tools", "tools calc 1+1; time; run echo hi"))
			return turn.SessionID, turn.RunID
		},
		"failed": func(t *testing.T) (string, string) {
			turn := s.await(s.say("failed", "fail 401"))
			return turn.SessionID, turn.RunID
		},
		"cancelled": func(t *testing.T) (string, string) {
			turn := s.say("cancelled", "slow 300")
			s.eventually(time.Minute, "it runs", func() bool { return s.turn(turn.ID).Status == chat.TurnRunning })
			_, err := s.record.Cancel(t.Context(), turn.SessionID, turn.ID)
			require.NoError(t, err)
			s.dispatch.CancelTurn(turn.SessionID, turn.ID)
			turn = s.await(turn)
			return turn.SessionID, turn.RunID
		},
		"cancelled_from_outside": func(t *testing.T) (string, string) {
			turn := s.say("outside", "slow 300")
			s.eventually(time.Minute, "it runs", func() bool { return s.turn(turn.ID).Status == chat.TurnRunning })
			require.NoError(t, s.client.CancelWorkflow(t.Context(), flow.SessionWorkflowID(turn.SessionID), ""))
			turn = s.await(turn)
			return turn.SessionID, turn.RunID
		},
		"continued_as_new": func(t *testing.T) (string, string) {
			turn := s.accept("long", "loop 3")
			run, err := s.client.ExecuteWorkflow(t.Context(), startOptions(turn.SessionID), flow.SessionWorkflow,
				flow.SessionInput{SessionID: turn.SessionID, Queues: flow.Queues{Base: "picobot"}, MaxSteps: 2})
			require.NoError(t, err)
			s.await(turn)
			return turn.SessionID, run.GetRunID()
		},
	} {
		t.Run(name, func(t *testing.T) {
			sessionID, runID := run(t)
			s.idle(sessionID)
			h := s.history(sessionID, runID)
			require.NoError(t, replay(h))
			keep(t, name, h)
		})
	}
}

// So must the work beside its turns, and the run that starts it.
func TestHistories_WorkBesideTurns_Replay(t *testing.T) {
	s := newStack(t)
	s.acts.TitleAfter = 2
	s.acts.Compaction = activities.Compaction{Threshold: 1e-6, KeepTurns: 1}
	s.await(s.say("beside", strings.Repeat("a long message ", 10_000)))
	turn := s.await(s.say("beside", "hello"))
	s.idle(turn.SessionID)
	for name, id := range map[string]string{
		"beside":     flow.SessionWorkflowID(turn.SessionID),
		"compaction": flow.CompactionWorkflowID(turn.SessionID),
		"title":      flow.TitleWorkflowID(turn.SessionID),
	} {
		t.Run(name, func(t *testing.T) {
			s.eventually(time.Minute, "the workflow has closed", func() bool { return s.statusOf(id) == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED })
			run := ""
			if name == "beside" {
				run = turn.RunID
			}
			h := s.historyOf(id, run)
			require.NoError(t, replay(h))
			keep(t, name, h)
		})
	}
	all, err := s.record.Compactions(t.Context(), turn.SessionID)
	require.NoError(t, err)
	require.Equal(t, store.CompactionCommitted, all[0].State)
}

// So must the runs of jobs: of a schedule and by hand, of each kind of work.
func TestHistories_Jobs_Replay(t *testing.T) {
	s := newStack(t)
	s.put(message("job_slot", 1))
	s.put(message("job_message", 3600))
	s.put(task("job_turn", schedule.AgentTask, 3600, "calc 6*7"))
	long := task("job_limit", schedule.SilentAgentTask, 3600, "slow 600")
	long.Payload.TimeoutSeconds = 1
	s.put(long)
	event := message("job_event", 3600)
	event.Kind, event.Target, event.Payload = schedule.InternalEvent, schedule.Target{}, schedule.Payload{Event: schedule.SessionCleanup}
	s.put(event)
	for id, status := range map[string]string{
		"job_slot": store.RunCompleted, "job_message": store.RunCompleted, "job_turn": store.RunCompleted,
		"job_limit": store.RunFailed, "job_event": store.RunCompleted,
	} {
		t.Run(id, func(t *testing.T) {
			if id != "job_slot" {
				_, err := s.record.RequestJobRun(t.Context(), id)
				require.NoError(t, err)
			}
			s.eventually(time.Minute, "it ran", func() bool { return s.countRuns(id, status) > 0 })
			var run store.JobRun
			for _, r := range s.runsOf(id) {
				if r.Status == status {
					run = r
				}
			}
			keep(t, id, s.replayed(run))
		})
	}
}

// keep writes a history down if that was asked for.
func keep(t *testing.T, name string, h *historypb.History) {
	t.Helper()
	if *record == "" {
		return
	}
	host, err := os.Hostname()
	require.NoError(t, err)
	for _, e := range h.Events {
		anonymous(e.ProtoReflect(), host)
	}
	data, err := protojson.MarshalOptions{Multiline: true}.Marshal(h)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(*record, name+".json"), data, 0o644))
}

// anonymous takes the names of this machine and its processes out of a message.
func anonymous(m protoreflect.Message, host string) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Kind() == protoreflect.StringKind && !f.IsList() && !f.IsMap() && (f.Name() == "identity" || strings.Contains(v.String(), "@") || strings.Contains(v.String(), host)):
			m.Set(f, protoreflect.ValueOfString("worker"))
		case f.Message() != nil && !f.IsList() && !f.IsMap():
			anonymous(v.Message(), host)
		}
		return true
	})
}
