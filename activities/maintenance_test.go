package activities_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	temporallog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"picobot/activities"
	"picobot/internal/flow"
	"picobot/internal/llm"
	"picobot/internal/memory"
	"picobot/store"
	"picobot/workflows"
)

// upkeep is a record with memories, a model that plans, and runs of the maintenance
// workflow with the real activities.
type upkeep struct {
	*fixture
	// around is told of each activity before (after = false) and after it has done its
	// work; an error makes the attempt fail there.
	around func(name string, after bool) error
}

func newUpkeep(t *testing.T) *upkeep {
	return &upkeep{fixture: newFixture(t), around: func(string, bool) error { return nil }}
}

func (u *upkeep) put(scope, key, content string) {
	u.Helper()
	_, _, err := u.record.PutMemory(u.Context(), scope, memory.Name{Namespace: "n", Key: key}, content)
	require.NoError(u, err)
}

// contents lists what is remembered of a person.
func (u *upkeep) contents(scope string) map[string]string {
	u.Helper()
	list, err := u.record.Memories(context.Background(), memory.Filter{Scope: scope, Limit: 1000})
	require.NoError(u, err)
	out := map[string]string{}
	for _, m := range list {
		out[m.Key] = m.Content
	}
	return out
}

func (u *upkeep) agentFile() string {
	text, err := os.ReadFile(filepath.Join(u.dir, "AGENT.md"))
	if err != nil {
		return ""
	}
	return string(text)
}

func (u *upkeep) query(q string, args ...any) string {
	u.Helper()
	db, err := sql.Open("sqlite", u.recordPath()+"?_pragma=busy_timeout(5000)")
	require.NoError(u, err)
	defer db.Close()
	var out sql.NullString
	require.NoError(u, db.QueryRow(q, args...).Scan(&out))
	return out.String
}

// at registers an activity that fails where around says so.
func at[I, O any](u *upkeep, env *testsuite.TestWorkflowEnvironment, name string, do func(context.Context, I) (O, error)) {
	env.RegisterActivityWithOptions(func(ctx context.Context, in I) (O, error) {
		if err := u.around(name, false); err != nil {
			var none O
			return none, err
		}
		out, err := do(ctx, in)
		if died := u.around(name, true); died != nil {
			return out, died
		}
		return out, err
	}, activity.RegisterOptions{Name: name})
}

// maintain runs the workflow to its end.
func (u *upkeep) maintain(in flow.MaintenanceInput) (flow.MaintenanceResult, error) {
	u.Helper()
	suite := &testsuite.WorkflowTestSuite{}
	suite.SetLogger(temporallog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(60 * time.Second)
	env.RegisterWorkflowWithOptions(workflows.MemoryMaintenance, workflow.RegisterOptions{Name: flow.MemoryMaintenanceWorkflow})
	at(u, env, flow.NextMaintenance, u.acts.NextMaintenance)
	at(u, env, flow.PlanMaintenance, u.acts.PlanMaintenance)
	at(u, env, flow.ApplyMaintenance, u.acts.ApplyMaintenance)
	at(u, env, flow.FailMaintenance, func(ctx context.Context, in flow.MaintenanceScope) (struct{}, error) {
		return struct{}{}, u.acts.FailMaintenance(ctx, in)
	})
	at(u, env, flow.FinishMaintenance, u.acts.FinishMaintenance)
	if in.Run == "" {
		u.seq++
		in.Run = fmt.Sprint("run", u.seq)
	}
	env.ExecuteWorkflow(flow.MemoryMaintenanceWorkflow, in)
	require.True(u, env.IsWorkflowCompleted())
	var out flow.MaintenanceResult
	if err := env.GetWorkflowError(); err != nil {
		return out, err
	}
	return out, env.GetWorkflowResult(&out)
}

// run is the run's row.
func (u *upkeep) run(n int) store.Maintenance {
	u.Helper()
	m, err := u.record.Maintenance(context.Background(), fmt.Sprint("run", n))
	require.NoError(u, err)
	return m
}

func plans(change string) string {
	all := map[string]any{"facts": []any{}, "preferences": []any{}, "behaviour_patterns": []any{}, "other": []any{}, "merge": []any{}, "delete": []any{}, "conflicts": []any{}, "managed_markdown": ""}
	if json.Unmarshal([]byte(change), &all) != nil {
		panic(change)
	}
	raw, _ := json.Marshal(all)
	return string(raw)
}

const tidyPlan = `{"merge":[{"into":{"namespace":"n","key":"tea","content":"Drinks green tea, in the morning."},"from":[{"namespace":"n","key":"tea"},{"namespace":"n","key":"tea time"}]}],
	"delete":[{"namespace":"n","key":"old","reason":"over"}],"conflicts":[{"items":[{"namespace":"n","key":"a"},{"namespace":"n","key":"b"}],"note":"which?"}],
	"managed_markdown":"- likes tea <!-- picobot:memory:end -->"}`

// someMemories are what tidyPlan is for.
func (u *upkeep) someMemories(scope string) {
	for _, m := range [][2]string{{"tea", "Drinks green tea."}, {"tea time", "Drinks it in the morning."}, {"old", "Was on holiday."}, {"a", "Likes cats."}, {"b", "Likes no cats."}} {
		u.put(scope, m[0], m[1])
	}
}

var tidied = map[string]string{"tea": "Drinks green tea, in the morning.", "a": "Likes cats.", "b": "Likes no cats."}

func TestMaintenance_PlanIsCarriedOut_AndPaidFor(t *testing.T) {
	u := newUpkeep(t)
	u.someMemories("cli:alice")
	require.NoError(t, os.WriteFile(filepath.Join(u.dir, "AGENT.md"), []byte("be brief\n"), 0o600))
	u.model.reply = says(plans(tidyPlan))
	out, err := u.maintain(flow.MaintenanceInput{})
	require.NoError(t, err)
	require.Equal(t, flow.MaintenanceResult{Run: "run1", Scopes: 1, Changed: 1, Merged: 1, Deleted: 1, Conflicts: 1}, out)
	require.Equal(t, tidied, u.contents("cli:alice"))
	require.Equal(t, "be brief\n\n<!-- picobot:memory:begin -->\n<!-- scope: cli:alice -->\n- likes tea &lt;!-- picobot:memory:end --&gt;\n<!-- picobot:memory:end -->\n", u.agentFile())
	m, err := u.record.Memory(t.Context(), "cli:alice", memory.Name{Namespace: "n", Key: "tea"})
	require.NoError(t, err)
	require.Equal(t, memory.Source{Type: memory.SourceMaintenance}, m.Source)
	hits, err := u.record.SearchMemories(t.Context(), "cli:alice", "", "morning tea", 5)
	require.NoError(t, err)
	require.Len(t, hits, 1)
	require.Equal(t, "1|main|completed|2", u.query(`SELECT count(*) || '|' || model || '|' || status || '|' || sum(prompt_tokens + completion_tokens) FROM model_calls WHERE turn_id IS NULL`))
	require.Equal(t, int64(2), u.run(1).Tokens)
	require.Equal(t, store.MaintenanceCompleted, u.run(1).Status)
	require.Equal(t, "0", u.query(`SELECT count(*) FROM memory_plans`))

	req := u.model.calls[0]
	require.Equal(t, "memory_plan", req.Schema.Name)
	require.True(t, req.Schema.Strict())
	require.Contains(t, req.Messages[1].Content, `{"namespace":"n","key":"tea time","content":"Drinks it in the morning.",`)
	require.NotContains(t, req.Messages[1].Content, "alice", "whose they are is nothing the model needs")

	// Nothing has changed since: nobody is asked, and nothing is done.
	_, err = u.maintain(flow.MaintenanceInput{})
	require.NoError(t, err)
	require.Equal(t, 1, u.model.count())
	u.put("cli:alice", "new", "Something else.")
	u.model.reply = says(plans(`{}`))
	_, err = u.maintain(flow.MaintenanceInput{})
	require.NoError(t, err)
	require.Equal(t, 2, u.model.count())
	require.Contains(t, u.model.calls[1].Messages[1].Content, "- likes tea", "the notes so far are shown")
	require.Contains(t, u.agentFile(), "- likes tea", "a plan without notes leaves those that are there")
}

func TestMaintenance_PlanThatDoesNotHold_ChangesNothingAndSaysWhy(t *testing.T) {
	before := map[string]string{"tea": "Drinks green tea.", "tea time": "Drinks it in the morning.", "old": "Was on holiday.", "a": "Likes cats.", "b": "Likes no cats."}
	for answer, why := range map[string]string{
		"Sorry, I cannot do that.": "it is no JSON",
		`{"facts":[]}`:             "preferences is missing",
		plans(`{"delete":[{"namespace":"n","key":"z","reason":""}]}`):                                                                                     "names a memory that is not there",
		plans(`{"delete":[{"namespace":"n","key":"tea","reason":""},{"namespace":"n","key":"old","reason":""},{"namespace":"n","key":"a","reason":""}]}`): "would drop 3 of 5 memories",
		plans(`{"merge":[{"into":{"namespace":"n","key":"b","content":"x"},"from":[{"namespace":"n","key":"a"}]}]}`):                                      "overwrite",
	} {
		u := newUpkeep(t)
		u.someMemories("cli:alice")
		u.put("cli:bob", "tea", "Bob's.")
		u.model.reply = func(_ context.Context, req llm.Request, _ int, _ func(llm.Delta)) (llm.Response, error) {
			if strings.Contains(req.Messages[1].Content, "Bob's") {
				return llm.Response{Content: plans(`{"managed_markdown":"about bob"}`), Stop: llm.StopEnd}, nil
			}
			return llm.Response{Content: answer, Stop: llm.StopEnd}, nil
		}
		_, err := u.maintain(flow.MaintenanceInput{})
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app)
		require.Equal(t, flow.ErrTypeMaintenance, app.Type())
		require.Contains(t, app.Error(), why)
		require.Equal(t, before, u.contents("cli:alice"))
		require.Equal(t, store.MaintenanceFailed, u.run(1).Status)
		require.Contains(t, u.run(1).Error, "cli:alice: the plan was refused: ")
		require.Contains(t, u.run(1).Error, why)
		require.NotContains(t, u.agentFile(), "cli:alice")
		require.Contains(t, u.agentFile(), "about bob", "others are tidied all the same")
		require.Equal(t, "0", u.query(`SELECT count(*) FROM memory_plans`))
	}
}

func TestMaintenance_AnswerCutShortOrFiltered_IsNoPlan(t *testing.T) {
	for stop, why := range map[llm.StopReason]string{llm.StopLength: "was cut", llm.StopContentFilter: "filter"} {
		u := newUpkeep(t)
		u.someMemories("cli:alice")
		u.model.reply = func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error) {
			return llm.Response{Content: plans(tidyPlan), Stop: stop}, nil
		}
		_, err := u.maintain(flow.MaintenanceInput{})
		require.ErrorContains(t, err, why)
		require.Len(t, u.contents("cli:alice"), 5)
	}
}

// A model that cannot do it is not asked for ever: after three refused plans in a row it
// has to wait until something changes, or somebody asks.
func TestMaintenance_RefusedAgainAndAgain_IsLeftAlone(t *testing.T) {
	u := newUpkeep(t)
	u.someMemories("cli:alice")
	u.model.reply = says("no plan")
	for range 5 {
		_, _ = u.maintain(flow.MaintenanceInput{})
	}
	require.Equal(t, 3, u.model.count())
	_, err := u.maintain(flow.MaintenanceInput{Again: true})
	require.Error(t, err)
	require.Equal(t, 4, u.model.count())
	u.put("cli:alice", "new", "x")
	_, err = u.maintain(flow.MaintenanceInput{})
	require.Error(t, err)
	require.Equal(t, 5, u.model.count())
}

func TestMaintenance_ModelFails_TheNextIsAsked_AndNoErrorBecomesAMemory(t *testing.T) {
	u := newUpkeep(t)
	u.agent.Models = []string{"main", "spare"}
	u.someMemories("cli:alice")
	refuse := &llm.Error{Kind: llm.KindAuth, Status: 401, Message: "bad key", Provider: "p", Model: "main"}
	u.model.reply = func(_ context.Context, req llm.Request, _ int, _ func(llm.Delta)) (llm.Response, error) {
		if req.Model.Name == "main" {
			return llm.Response{}, refuse
		}
		return llm.Response{Content: plans(tidyPlan), Stop: llm.StopEnd}, nil
	}
	_, err := u.maintain(flow.MaintenanceInput{})
	require.NoError(t, err)
	require.Equal(t, tidied, u.contents("cli:alice"))

	u.put("cli:alice", "new", "x")
	before := u.contents("cli:alice")
	u.model.reply = func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error) {
		return llm.Response{Content: plans(tidyPlan)}, refuse
	}
	_, err = u.maintain(flow.MaintenanceInput{})
	require.ErrorContains(t, err, "cli:alice: ")
	require.Equal(t, before, u.contents("cli:alice"))
	require.Equal(t, "failed|2", u.query(`SELECT status || '|' || (SELECT count(*) FROM model_calls WHERE status = 'failed' AND turn_id IS NULL AND rowid > 2) FROM memory_runs ORDER BY started_at DESC LIMIT 1`))
}

func TestMaintenance_Disabled_DoesNothing(t *testing.T) {
	u := newUpkeep(t)
	u.acts = activities.New(func() activities.Deps { d := u.acts.Deps; d.MaintenanceEnabled = false; return d }())
	u.someMemories("cli:alice")
	out, err := u.maintain(flow.MaintenanceInput{})
	require.NoError(t, err)
	require.Equal(t, flow.MaintenanceResult{Disabled: true}, out)
	require.Zero(t, u.model.count())
	require.Empty(t, u.agentFile())
	require.Equal(t, "0", u.query(`SELECT count(*) FROM memory_runs`))
}

func TestMaintenance_OneScope_LeavesTheOthers(t *testing.T) {
	u := newUpkeep(t)
	u.someMemories("cli:alice")
	u.someMemories("cli:bob")
	u.model.reply = says(plans(tidyPlan))
	_, err := u.maintain(flow.MaintenanceInput{Scope: "cli:bob"})
	require.NoError(t, err)
	require.Equal(t, 1, u.model.count())
	require.Len(t, u.contents("cli:alice"), 5)
	require.Equal(t, tidied, u.contents("cli:bob"))
}

// Somebody who goes on talking loses nothing: a plan for what was there before is not
// carried out on what is there now.
func TestMaintenance_MemoryChangesMeanwhile_IsPlannedForAgain(t *testing.T) {
	u := newUpkeep(t)
	u.someMemories("cli:alice")
	u.model.reply = func(_ context.Context, _ llm.Request, n int, _ func(llm.Delta)) (llm.Response, error) {
		if n == 1 {
			u.put("cli:alice", "tea time", "Drinks it in the evening now.")
		}
		return llm.Response{Content: plans(`{}`), Stop: llm.StopEnd}, nil
	}
	_, err := u.maintain(flow.MaintenanceInput{})
	require.NoError(t, err)
	require.Equal(t, 2, u.model.count())
	require.Equal(t, "Drinks it in the evening now.", u.contents("cli:alice")["tea time"])
	// One who never stops is left to the next run.
	u.put("cli:alice", "x", "0")
	u.model.reply = func(_ context.Context, _ llm.Request, n int, _ func(llm.Delta)) (llm.Response, error) {
		u.put("cli:alice", "x", fmt.Sprint(n))
		return llm.Response{Content: plans(`{"delete":[{"namespace":"n","key":"x","reason":""}]}`), Stop: llm.StopEnd}, nil
	}
	_, err = u.maintain(flow.MaintenanceInput{})
	require.NoError(t, err)
	require.Equal(t, 5, u.model.count())
	require.NotEmpty(t, u.contents("cli:alice")["x"])
	require.Equal(t, "1", u.query(`SELECT rev <> maintained_rev FROM memory_scopes`))
}

// More than a model can be shown at once is planned for in parts and tidied as one.
func TestMaintenance_ManyMemories_InPartsThatFitTheWindow(t *testing.T) {
	u := newUpkeep(t)
	u.window = 8000
	for i := range 60 {
		u.put("cli:alice", fmt.Sprintf("k%02d", i), strings.Repeat("word ", 60))
	}
	var mu sync.Mutex
	shown := map[string]int{}
	u.model.reply = func(_ context.Context, req llm.Request, n int, _ func(llm.Delta)) (llm.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		var first string
		for line := range strings.Lines(req.Messages[1].Content) {
			var m struct{ Key string }
			if json.Unmarshal([]byte(line), &m) == nil && m.Key != "" {
				shown[m.Key]++
				if first == "" {
					first = m.Key
				}
			}
		}
		if n > 1 {
			require.Contains(t, req.Messages[1].Content, fmt.Sprintf("notes of part %d", n-1))
		}
		return llm.Response{Content: plans(fmt.Sprintf(`{"delete":[{"namespace":"n","key":%q,"reason":""}],"managed_markdown":"notes of part %d"}`, first, n)), Stop: llm.StopEnd}, nil
	}
	_, err := u.maintain(flow.MaintenanceInput{})
	require.NoError(t, err)
	parts := u.model.count()
	require.Greater(t, parts, 1)
	require.Len(t, shown, 60)
	for k, n := range shown {
		require.Equal(t, 1, n, k)
	}
	require.Len(t, u.contents("cli:alice"), 60-parts)
	require.Contains(t, u.agentFile(), fmt.Sprintf("notes of part %d", parts))
	// The rule about dropping too much holds for all parts together.
	u.put("cli:alice", "new", "x")
	u.model.reply = func(_ context.Context, req llm.Request, n int, _ func(llm.Delta)) (llm.Response, error) {
		var del []string
		for line := range strings.Lines(req.Messages[1].Content) {
			var m struct{ Key string }
			if json.Unmarshal([]byte(line), &m) == nil && m.Key != "" {
				del = append(del, fmt.Sprintf(`{"namespace":"n","key":%q,"reason":""}`, m.Key))
			}
		}
		return llm.Response{Content: plans(`{"delete":[` + strings.Join(del[:len(del)*6/10], ",") + `]}`), Stop: llm.StopEnd}, nil
	}
	left := len(u.contents("cli:alice"))
	_, err = u.maintain(flow.MaintenanceInput{})
	require.ErrorContains(t, err, "more than half")
	require.Len(t, u.contents("cli:alice"), left)
}

func TestMaintenance_NoMemoriesLeft_TheNotesGoWithoutAModel(t *testing.T) {
	u := newUpkeep(t)
	u.put("cli:alice", "a", "Likes cats.")
	u.model.reply = says(plans(`{"managed_markdown":"likes cats"}`))
	_, err := u.maintain(flow.MaintenanceInput{})
	require.NoError(t, err)
	require.Contains(t, u.agentFile(), "likes cats")
	require.NoError(t, u.record.DeleteMemory(t.Context(), "cli:alice", memory.Name{Namespace: "n", Key: "a"}))
	_, err = u.maintain(flow.MaintenanceInput{})
	require.NoError(t, err)
	require.Equal(t, 1, u.model.count())
	require.NotContains(t, u.agentFile(), "likes cats")
}

// Whatever dies, wherever, before or after its work, and however often: in the end each
// person's memories are tidied once, none is lost or doubled, and nobody was asked twice
// for what stands in the record.
func TestMaintenance_CrashRounds(t *testing.T) {
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	for seed := range rounds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(seed), 7))
			u := newUpkeep(t)
			scopes := []string{"cli:alice", "cli:bob", "feishu:ou_1"}
			for _, s := range scopes {
				u.someMemories(s)
			}
			u.model.reply = says(plans(tidyPlan))
			var mu sync.Mutex
			u.around = func(string, bool) error {
				mu.Lock()
				defer mu.Unlock()
				switch rnd.IntN(6) {
				case 0:
					return errors.New("the attempt died") // Temporal makes another
				case 1: // the process died with everything in it: another run begins
					return temporal.NewNonRetryableApplicationError("the run died", "died", nil)
				}
				return nil
			}
			for run := 0; ; run++ {
				require.Less(t, run, 200)
				if _, err := u.maintain(flow.MaintenanceInput{}); err == nil {
					break
				}
			}
			for _, s := range scopes {
				require.Equal(t, tidied, u.contents(s))
				require.Equal(t, 1, strings.Count(u.agentFile(), "<!-- scope: "+s+" -->"), u.agentFile())
			}
			require.Equal(t, len(scopes), u.model.count(), "a plan that is in the record is not asked for again")
			require.Equal(t, "0|0|ok", u.query(`SELECT (SELECT count(*) FROM memory_plans) || '|' || (SELECT count(*) FROM memory_scopes WHERE rev <> maintained_rev) || '|' || (SELECT * FROM pragma_integrity_check)`))
			require.Equal(t, fmt.Sprint(len(scopes)), u.query(`SELECT sum(changed) FROM memory_runs`), "each was tidied once")
		})
	}
}
