package activities_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/flow"
	"picobot/internal/llm"
	"picobot/store"
)

// talk answers so many messages of so many characters and returns what the last made due.
func (f *fixture) talk(n, size int) (sessionID string, then flow.Then) {
	f.Helper()
	f.model.reply = func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error) {
		return llm.Response{Content: "answer " + strings.Repeat("y", size), Stop: llm.StopEnd}, nil // no usage: the estimate holds
	}
	for range n {
		b := f.begin("cli", fmt.Sprintf("question %d %s", f.seq, strings.Repeat("x", size)))
		done, err := f.ask(b.TurnID, 1)
		require.NoError(f, err)
		sessionID, then = f.turn(b.TurnID).SessionID, done.Then
	}
	return sessionID, then
}

func (f *fixture) session(id string) store.Session {
	f.Helper()
	s, err := f.record.Session(f.Context(), id)
	require.NoError(f, err)
	return s
}

func (f *fixture) summarise(in flow.SummariseInput) (flow.Summarised, error) {
	return do[flow.Summarised](f, f.env, flow.Summarise, in)
}

func (f *fixture) commit(id string) flow.Compacted {
	f.Helper()
	done, err := do[flow.Compacted](f, f.env, flow.CommitCompaction, id)
	require.NoError(f, err)
	return done
}

// told is what outbox rows say.
func (f *fixture) told(ids []string) string {
	f.Helper()
	require.Len(f, ids, 1)
	o, err := f.record.Outbound(f.Context(), ids[0])
	require.NoError(f, err)
	return o.Content
}

func (f *fixture) compactions(id string) []store.Compaction {
	f.Helper()
	all, err := f.record.Compactions(f.Context(), id)
	require.NoError(f, err)
	return all
}

// large makes a session that is to be compacted.
func (f *fixture) large() string {
	f.Helper()
	f.window = 4000
	id, then := f.talk(3, 1600)
	require.True(f, then.Compact)
	return id
}

func last(req llm.Request) string { return req.Messages[len(req.Messages)-1].Content }

func TestCallModel_SessionGrewLarge_ACompactionIsDue(t *testing.T) {
	f := newFixture(t)
	f.window = 4000
	id, then := f.talk(2, 800)
	require.False(t, then.Compact, "below the threshold")
	require.Equal(t, store.DueNothing, f.session(id).Compacting.Due)
	_, then = f.talk(2, 1600)
	require.True(t, then.Compact)
	require.Equal(t, store.DueSize, f.session(id).Compacting.Due)
}

func TestCallModel_NoMoreTurnsThanStay_NothingIsDue(t *testing.T) {
	f := newFixture(t)
	f.window = 4000
	_, then := f.talk(1, 8000)
	require.False(t, then.Compact)
}

// What the provider reports is worth more than the estimate.
func TestCallModel_ProviderReportsFarMoreTokens_ACompactionIsDue(t *testing.T) {
	f := newFixture(t)
	f.window = 4000
	reply := says("hi")
	f.model.reply = func(ctx context.Context, req llm.Request, n int, d func(llm.Delta)) (llm.Response, error) {
		r, err := reply(ctx, req, n, d)
		r.Usage.PromptTokens = 3000
		return r, err
	}
	var then flow.Then
	for range 2 {
		b := f.begin("cli", "hello")
		done, err := f.ask(b.TurnID, 1)
		require.NoError(t, err)
		then = done.Then
	}
	require.True(t, then.Compact)
}

func TestCallModel_StepThatHasItsAnswer_SaysAgainWhatIsDue(t *testing.T) {
	f := newFixture(t)
	f.window = 4000
	f.talk(2, 1600)
	b := f.begin("cli", "again "+strings.Repeat("x", 1600))
	for range 2 {
		done, err := f.ask(b.TurnID, 1)
		require.NoError(t, err)
		require.True(t, done.Then.Compact)
		require.True(t, done.Then.Title)
	}
}

func TestFinishTurn_SessionGrewLarge_ACompactionIsDue(t *testing.T) {
	f := newFixture(t)
	f.window = 4000
	f.talk(2, 1000)
	b := f.begin("cli", strings.Repeat("x", 8000))
	done, err := do[flow.FinishResult](f, f.env, flow.FinishTurn, flow.FinishInput{TurnID: b.TurnID, Status: chat.TurnFailed, Failure: flow.Failure{Code: "context_too_large", Model: "main"}})
	require.NoError(t, err)
	require.True(t, done.Then.Compact)
	require.Equal(t, store.DueSize, f.session(f.turn(b.TurnID).SessionID).Compacting.Due)
}

func TestSummarise_AsksTheSessionsModel_AndTheSummaryIsInTheNextRequest(t *testing.T) {
	f := newFixture(t)
	id := f.large()
	asked := f.model.count()
	f.model.reply = says("they asked three questions")
	s, err := f.summarise(flow.SummariseInput{SessionID: id})
	require.NoError(t, err)
	require.NotEmpty(t, s.CompactionID)
	f.commit(s.CompactionID)

	req := f.model.calls[asked]
	require.Empty(t, req.Tools)
	require.Contains(t, last(req), "[person] question 1")
	require.Contains(t, last(req), "[assistant] answer")
	require.NotContains(t, last(req), "question 2", "the newest turn stays")

	b := f.begin("cli", "and now?")
	_, err = f.ask(b.TurnID, 1)
	require.NoError(t, err)
	next := f.model.calls[len(f.model.calls)-1]
	require.Equal(t, "[Compressed History]\nthey asked three questions", next.Messages[1].Content)
	var said []string
	for _, m := range next.Messages {
		if m.Role != chat.RoleSystem {
			said = append(said, m.Content[:min(len(m.Content), 10)])
		}
	}
	require.Equal(t, []string{"question 2", "answer yyy", "and now?"}, said)
	require.Equal(t, store.DueNothing, f.session(id).Compacting.Due)
	got := f.compactions(id)
	require.Len(t, got, 1)
	require.Equal(t, store.SummaryByModel, got[0].Source)
	require.Less(t, got[0].After*10, got[0].Before*8)
}

// A crash between the two steps: nobody is asked, or paid, twice.
func TestSummarise_Again_ReturnsTheSummaryThatIsThere(t *testing.T) {
	f := newFixture(t)
	id := f.large()
	first, err := f.summarise(flow.SummariseInput{SessionID: id})
	require.NoError(t, err)
	asked := f.model.count()
	again, err := f.summarise(flow.SummariseInput{SessionID: id})
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, asked, f.model.count())
	f.commit(first.CompactionID)
	f.commit(first.CompactionID)
	none, err := f.summarise(flow.SummariseInput{SessionID: id})
	require.NoError(t, err)
	require.Empty(t, none.CompactionID, "nothing is due any more")
	require.Len(t, f.compactions(id), 1)
}

func TestSummarise_ModelFails_IsAModelErrorAndPaidFor(t *testing.T) {
	f := newFixture(t)
	id := f.large()
	f.model.reply = func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error) {
		return llm.Response{Usage: chat.Usage{PromptTokens: 11}}, &llm.Error{Kind: llm.KindOverloaded, Model: "main"}
	}
	_, err := f.summarise(flow.SummariseInput{SessionID: id})
	require.ErrorContains(t, err, "main")
	require.Equal(t, 1, f.outside(), "the call is in the record")
	require.Equal(t, store.DueSize, f.session(id).Compacting.Due)

	s, err := f.summarise(flow.SummariseInput{SessionID: id, NoModel: true})
	require.NoError(t, err)
	f.commit(s.CompactionID)
	got := f.compactions(id)
	require.Equal(t, store.SummaryByTranscript, got[0].Source)
	require.Equal(t, store.CompactionCommitted, got[0].State)
	b := f.begin("cli", "and now?")
	f.model.reply = says("hi")
	_, err = f.ask(b.TurnID, 1)
	require.NoError(t, err)
	next := f.model.calls[len(f.model.calls)-1]
	require.Contains(t, next.Messages[1].Content, "[Compressed History]\n")
	require.Contains(t, next.Messages[1].Content, "[assistant] answer")
}

// outside counts the recorded calls of no turn.
func (f *fixture) outside() (n int) {
	f.Helper()
	ended, err := f.record.Tally().Next(f.Context())
	require.NoError(f, err)
	all, err := f.record.Turns(f.Context(), store.TurnFilter{})
	require.NoError(f, err)
	n = len(ended.Calls)
	for _, t := range all {
		n -= len(f.modelCalls(t.ID))
	}
	return n
}

func TestSummarise_ModelSaysNothing_TheTranscriptTakesItsPlace(t *testing.T) {
	f := newFixture(t)
	id := f.large()
	f.model.reply = says(" ")
	asked := f.model.count()
	s, err := f.summarise(flow.SummariseInput{SessionID: id})
	require.NoError(t, err)
	require.NotEmpty(t, s.CompactionID)
	require.Equal(t, asked+2, f.model.count(), "it is asked once more")
	require.Equal(t, store.SummaryByTranscript, f.compactions(id)[0].Source)
	require.Equal(t, 2, f.outside())
}

func TestSummarise_TooLongForTheModel_GoesAgainWithLess(t *testing.T) {
	f := newFixture(t)
	id := f.large()
	var sizes []int
	f.model.reply = func(ctx context.Context, req llm.Request, n int, d func(llm.Delta)) (llm.Response, error) {
		if sizes = append(sizes, len(last(req))); len(sizes) < 3 {
			return llm.Response{}, &llm.Error{Kind: llm.KindContextTooLarge, Model: "main"}
		}
		return says("short")(ctx, req, n, d)
	}
	s, err := f.summarise(flow.SummariseInput{SessionID: id})
	require.NoError(t, err)
	require.NotEmpty(t, s.CompactionID)
	require.Len(t, sizes, 3)
	require.Less(t, sizes[2], sizes[0])
}

// A summary that is as long as what it is of gains nothing; after three of those
// nobody is asked until the session has grown by half.
func TestSummarise_FruitlessThreeTimes_RestsUntilTheSessionHasGrown(t *testing.T) {
	f := newFixture(t)
	f.window = 4000
	f.talk(1, 500) // little to summarise, much that stays
	id, then := f.talk(1, 4000)
	require.True(t, then.Compact)
	asked := f.model.count()
	for range 3 {
		require.NoError(t, f.record.SetCompactionDue(t.Context(), id))
		s, err := f.summarise(flow.SummariseInput{SessionID: id})
		require.NoError(t, err)
		require.Empty(t, s.CompactionID)
		require.Equal(t, store.DueNothing, f.session(id).Compacting.Due)
	}
	require.Equal(t, asked, f.model.count(), "nobody need be asked to see that it gains nothing")
	require.Equal(t, 3, f.session(id).Compacting.Strikes)
	require.Len(t, f.compactions(id), 3)
	_, then = f.talk(1, 10)
	require.False(t, then.Compact)
	_, then = f.talk(1, 6000)
	require.True(t, then.Compact, "it has grown by more than half")
}

// A summary must be shorter than what it is of.
func TestSummarise_SummaryAsLongAsTheRest_IsFruitless(t *testing.T) {
	f := newFixture(t)
	f.window = 4000
	f.talk(1, 1200)
	id, then := f.talk(1, 2600)
	require.True(t, then.Compact)
	f.model.reply = says(strings.Repeat("words ", 1000))
	s, err := f.summarise(flow.SummariseInput{SessionID: id})
	require.NoError(t, err)
	require.Empty(t, s.CompactionID)
	require.Equal(t, 1, f.session(id).Compacting.Strikes)
	require.Equal(t, 1, f.outside(), "it is paid for")
}

func TestSummarise_Asked_WorksBelowTheThreshold(t *testing.T) {
	f := newFixture(t)
	id, then := f.talk(3, 400)
	require.False(t, then.Compact)
	s, err := f.summarise(flow.SummariseInput{SessionID: id})
	require.NoError(t, err)
	require.Empty(t, s.CompactionID)
	f.askCompaction(id)
	s, err = f.summarise(flow.SummariseInput{SessionID: id})
	require.NoError(t, err)
	require.NotEmpty(t, s.CompactionID)
}

func (f *fixture) askCompaction(id string) {
	f.Helper()
	_, err := f.record.RunCommand(f.Context(), store.Inbound{Channel: "cli", ChatID: "c", ExternalID: "compact", SessionID: id, Content: "/compact"}, "compact",
		func(tx *store.CommandTx) (store.CommandAnswer, error) {
			ok, err := tx.AskCompaction(1, func(chat.Message) int { return 1 }, func(store.CompactionPlan) bool { return true })
			if err == nil && !ok {
				err = errors.New("refused")
			}
			return store.CommandAnswer{}, err
		})
	require.NoError(f, err)
}

func TestSummarise_SessionThatIsNotThere_IsNobodys(t *testing.T) {
	f := newFixture(t)
	s, err := f.summarise(flow.SummariseInput{SessionID: "cli:c:nobody"})
	require.NoError(t, err)
	require.Empty(t, s.CompactionID)
	f.commit("nothing")
}

func TestMakeTitle_NamesASessionOnce(t *testing.T) {
	f := newFixture(t)
	id, then := f.talk(1, 10)
	require.False(t, then.Title, "too early")
	_, then = f.talk(1, 10)
	require.True(t, then.Title)
	f.model.reply = says("\"Questions about three things.\"\n")
	_, err := f.env.ExecuteActivity(flow.MakeTitle, id)
	require.NoError(t, err)
	require.Equal(t, "Questions about three things", f.session(id).Title)
	require.Equal(t, store.TitleByModel, f.session(id).TitleSource)
	require.Equal(t, 1, f.outside())
	asked := f.model.count()
	_, err = f.env.ExecuteActivity(flow.MakeTitle, id)
	require.NoError(t, err)
	require.Equal(t, asked, f.model.count())
	_, then = f.talk(1, 10)
	require.False(t, then.Title)
}

func TestMakeTitle_BadAnswers_LeaveTheTitle_ThreeTimes(t *testing.T) {
	f := newFixture(t)
	id, _ := f.talk(2, 10)
	before := f.session(id).Title
	for _, bad := range []func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error){
		says("No"),
		says(strings.Repeat("I would rather talk at length about something else. ", 20)),
		func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error) {
			return llm.Response{}, &llm.Error{Kind: llm.KindAuth, Model: "main"}
		},
	} {
		_, then := f.talk(1, 10)
		require.True(t, then.Title)
		f.model.reply = bad
		_, err := f.env.ExecuteActivity(flow.MakeTitle, id)
		require.NoError(t, err)
		require.Equal(t, before, f.session(id).Title)
	}
	_, then := f.talk(1, 10)
	require.False(t, then.Title, "it was tried often enough")
}

func TestMakeTitle_ModelFailsForNow_IsTriedAgain(t *testing.T) {
	f := newFixture(t)
	id, _ := f.talk(2, 10)
	f.model.reply = func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Model: "main"}
	}
	_, err := f.env.ExecuteActivity(flow.MakeTitle, id)
	require.Error(t, err)
	require.Zero(t, f.session(id).TitleTries)
	require.Equal(t, 1, f.outside())
}

func TestCompaction_Asked_TheEndIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		sizes []int
		reply func(context.Context, llm.Request, int, func(llm.Delta)) (llm.Response, error)
		want  string
	}{
		"summarised":         {[]int{1200, 1200, 1200}, says("short"), "is compacted: a summary stands"},
		"no summary":         {[]int{1200, 1200, 1200}, says(" "), "is compacted without a summary"},
		"as long as the old": {[]int{1200, 2600}, says(strings.Repeat("words ", 1000)), "would have saved too little"},
	} {
		f := newFixture(t)
		f.window = 4000
		var id string
		for _, size := range c.sizes {
			id, _ = f.talk(1, size)
		}
		f.askCompaction(id)
		f.model.reply = c.reply
		s, err := f.summarise(flow.SummariseInput{SessionID: id})
		require.NoError(t, err, name)
		ids := s.Outbound
		if s.CompactionID != "" {
			require.Empty(t, ids, name)
			ids = f.commit(s.CompactionID).Outbound
		}
		require.Contains(t, f.told(ids), c.want, name)
	}
}

func TestCompaction_AskedWhileTheModelCannotBeUsed_IsToldSo(t *testing.T) {
	f := newFixture(t)
	id, _ := f.talk(3, 400)
	f.askCompaction(id)
	f.agent.Models = nil
	s, err := f.summarise(flow.SummariseInput{SessionID: id})
	require.NoError(t, err)
	require.Contains(t, f.told(s.Outbound), "its model cannot be used")
}
