package feishu

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/activities"
	"picobot/internal/testkit/fakefeishu"
	"picobot/store"
)

// asked has a person say something in a chat, and gives its turn.
func (r *rig) asked(said fakefeishu.Said) (id string, turn store.Turn) {
	r.Helper()
	before := len(r.turns(said.ChatID))
	id = r.feishu.Say(said)
	r.eventually("it is accepted", func() bool { return len(r.turns(said.ChatID)) > before })
	r.acknowledged()
	return id, r.turns(said.ChatID)[before]
}

// row is an outbox row of a chat that answers nobody.
func (r *rig) row(chatID, origin, content string) store.Outbound {
	r.Helper()
	r.feishu.Store(fakefeishu.Said{ChatID: chatID, Text: "so that there is a chat"})
	o := store.Outbound{Channel: "feishu", ChatID: chatID, Origin: origin, Content: content}
	id, err := r.record.Enqueue(r.Context(), o)
	require.NoError(r, err)
	o, err = r.record.Outbound(r.Context(), id)
	require.NoError(r, err)
	return o
}

const sends = "/im/v1/messages"

func TestSend_Answer_RepliesAsACardWithAUUID(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	asked, turn := r.asked(fakefeishu.Said{ChatID: "oc_p", Text: "hello"})
	id, err := r.send(r.answer(turn, "**hi** | there"))
	require.NoError(t, err)
	require.Equal(t, []string{"interactive: **hi** | there"}, r.shown("oc_p"))
	m := r.feishu.Shown("oc_p")[0]
	require.Equal(t, m.ID, id)
	require.Equal(t, asked, m.ParentID)
	require.NotEmpty(t, m.UUID)
	require.Empty(t, m.ThreadID)
}

// One message, whatever happens to the requests.
func TestSend_FailsInEveryWay_PeopleSeeItOnce(t *testing.T) {
	for name, faults := range map[string][]fakefeishu.Fault{
		"the response is lost":                 {{Cut: true, Path: sends}, {Cut: true, Path: sends}},
		"the request is lost":                  {{Drop: true, Path: sends, Method: http.MethodPost}},
		"the server fails before":              {{Status: 502, Path: sends}, {Status: 500, Code: 300120, Path: sends}},
		"a proxy answers":                      {{Status: 200, Path: "none"}, {Status: 504, Path: sends}},
		"something on the way refuses":         {{HTML: true, Status: 403, Path: sends, Times: 2}, {HTML: true, Status: 404, Path: sends}},
		"the login meets a strange page":       {{HTML: true, Status: 403, Path: "tenant_access_token", Times: 2}},
		"rate of the app":                      {{Status: 429, Code: 99991400, Path: sends, Header: http.Header{"X-Ogw-Ratelimit-Reset": {"1"}}}},
		"rate of the chat":                     {{Code: 230020, Path: sends}},
		"the token is not taken":               {{Code: 99991663, Path: sends}},
		"no token for now":                     {{Status: 503, Path: "tenant_access_token"}, {Drop: true, Path: "tenant_access_token"}},
		"lost, and then the card is not taken": {{Cut: true, Path: sends}, {Code: 230099, Msg: "ErrCode: 11310", Path: sends, Body: "interactive"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, fakefeishu.Config{}, nil)
			o := r.row("oc_p", "job1", "hello")
			r.feishu.Arrange(faults...)
			id, err := r.send(o)
			for end := time.Now().Add(patience); err != nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
				require.NotErrorIs(t, err, activities.ErrRefused)
				id, err = r.send(o)
			}
			require.NoError(t, err)
			require.Len(t, r.shown("oc_p"), 1)
			require.Contains(t, r.shown("oc_p")[0], ": hello")
			uuids := map[string]bool{}
			for _, c := range r.feishu.Calls(http.MethodPost, sends) {
				uuids[c.UUID] = true
			}
			require.Len(t, uuids, 1, "every form and every try has the same uuid")
			again, err := r.send(o)
			require.NoError(t, err)
			require.Equal(t, id, again)
			require.Len(t, r.shown("oc_p"), 1)
		})
	}
}

func TestSend_RevokedToken_IsReplacedOnce(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	_, err := r.send(r.row("oc_p", "job1", "one"))
	require.NoError(t, err)
	r.feishu.RevokeTokens()
	_, err = r.app.Send(t.Context(), r.row("oc_p", "job2", "two"))
	require.NoError(t, err)
	require.Len(t, r.feishu.Calls("", "tenant_access_token"), 2)
	r.clock.move(2 * time.Hour)
	_, err = r.app.Send(t.Context(), r.row("oc_p", "job3", "three"))
	require.NoError(t, err)
	require.Len(t, r.feishu.Calls("", "tenant_access_token"), 3, "it is replaced before it ends")
}

func TestSend_ContentThatACardCannotShow_IsAPostAndThenAText(t *testing.T) {
	r := newRig(t, fakefeishu.Config{MaxTables: 1}, nil)
	table := "| a | b |\n|---|---|\n| 1 | 2 |\n\n"
	_, err := r.send(r.row("oc_post", "job1", table+table))
	require.NoError(t, err)
	require.Equal(t, "post", r.feishu.Shown("oc_post")[0].Type)
	r.feishu.Arrange(fakefeishu.Fault{Code: 230099, Path: sends, Body: "interactive"}, fakefeishu.Fault{Code: 230001, Path: sends, Body: `"post"`})
	_, err = r.send(r.row("oc_text", "job2", "hello"))
	require.NoError(t, err)
	require.Equal(t, []string{"text: hello"}, r.shown("oc_text"))
}

func TestSend_LongAnswer_IsSeveralMessagesInOrder_EachOnce(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	var lines []string
	for i := range 400 {
		lines = append(lines, fmt.Sprintf("- line %04d %s", i, strings.Repeat("x", 60)))
	}
	o := r.row("oc_p", "job1", strings.Join(lines, "\n"))
	r.feishu.Arrange(fakefeishu.Fault{Cut: true, Path: sends, Body: "line 0200"})
	_, err := r.send(o)
	require.NoError(t, err)
	shown := r.shown("oc_p")
	require.Greater(t, len(shown), 2)
	all := strings.Join(shown, "\n")
	at := -1
	for i := range lines {
		line := fmt.Sprintf("line %04d", i)
		require.Equal(t, 1, strings.Count(all, line))
		require.Greater(t, strings.Index(all, line), at)
		at = strings.Index(all, line)
	}
}

func TestSend_ToAMessageThatWasTakenBack_GoesToTheChat(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, func(o *Options) { o.ReplyInThread = true })
	r.start()
	asked, turn := r.asked(fakefeishu.Said{ChatID: "oc_g", ChatType: "group", Text: "@_user_1 hi", Mentions: []fakefeishu.Mention{fakefeishu.MentionBot}})
	r.feishu.Recall(asked)
	_, err := r.send(r.answer(turn, "hello"))
	require.NoError(t, err)
	require.Len(t, r.shown("oc_g"), 1)
	require.Empty(t, r.feishu.Shown("oc_g")[0].ParentID)
}

func TestSend_Threads_ForTopicsAndWhereTheyAreWanted(t *testing.T) {
	mention := []fakefeishu.Mention{fakefeishu.MentionBot}
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	_, turn := r.asked(fakefeishu.Said{ChatID: "oc_topic", ChatType: "group", Text: "@_user_1 hi", Mentions: mention, ThreadID: "omt_1"})
	_, err := r.send(r.answer(turn, "hello"))
	require.NoError(t, err)
	require.Equal(t, "omt_1", r.feishu.Shown("oc_topic")[0].ThreadID)

	r = newRig(t, fakefeishu.Config{}, func(o *Options) { o.ReplyInThread = true })
	r.start()
	_, turn = r.asked(fakefeishu.Said{ChatID: "oc_g", ChatType: "group", Text: "@_user_1 hi", Mentions: mention})
	_, err = r.send(r.answer(turn, "hello"))
	require.NoError(t, err)
	require.NotEmpty(t, r.feishu.Shown("oc_g")[0].ThreadID)
	_, turn = r.asked(fakefeishu.Said{ChatID: "oc_p", Text: "hi"})
	_, err = r.send(r.answer(turn, "hello"))
	require.NoError(t, err, "where there are no threads it is a plain reply")
	require.Len(t, r.shown("oc_p"), 1)
}

func TestSend_WhatFeishuWillNeverTake_IsRefusedOnceWithItsReason(t *testing.T) {
	for code, status := range map[int]int{99991672: 0, 230002: 0, 232009: 0, 230006: 0, 10014: 400} {
		r := newRig(t, fakefeishu.Config{}, nil)
		r.feishu.Arrange(fakefeishu.Fault{Code: code, Status: status, Path: sends, Times: -1})
		_, err := r.app.Send(t.Context(), r.row("oc_p", "job1", "hello"))
		require.ErrorIs(t, err, activities.ErrRefused)
		require.ErrorContains(t, err, fmt.Sprint(code))
		require.Len(t, r.feishu.Calls(http.MethodPost, sends), 1)
	}
}

func TestSend_SensitiveAnswer_TheChatIsToldThatThereIsOne(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.feishu.Arrange(fakefeishu.Fault{Code: 230028, Path: sends, Body: "salaries"})
	_, err := r.app.Send(t.Context(), r.row("oc_p", "job1", "the salaries"))
	require.ErrorIs(t, err, activities.ErrRefused)
	require.Len(t, r.shown("oc_p"), 1)
	require.Contains(t, r.shown("oc_p")[0], "230028")
}

func TestSend_EmptyRow_IsNoMessage(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	_, err := r.app.Send(t.Context(), r.row("oc_p", "job1", " \n"))
	require.ErrorIs(t, err, activities.ErrRefused)
	require.Empty(t, r.shown("oc_p"))
}

func TestSend_LimitedChat_IsWaitedForWithoutBlockingOthers(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	limited, other := r.row("oc_limited", "job1", "hello"), r.row("oc_other", "job2", "hello")
	r.feishu.Arrange(fakefeishu.Fault{Status: 429, Code: 99991400, Path: sends, Body: "oc_limited", Header: http.Header{"X-Ogw-Ratelimit-Reset": {"30"}}})
	_, err := r.app.Send(t.Context(), limited)
	wait, ok := errors.AsType[*activities.LaterError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, 30*time.Second, wait.After)
	calls := len(r.feishu.Calls("", sends))
	_, err = r.app.Send(t.Context(), limited)
	_, ok = errors.AsType[*activities.LaterError](err)
	require.True(t, ok)
	require.Len(t, r.feishu.Calls("", sends), calls, "it is not even asked before its time")
	_, err = r.app.Send(t.Context(), other)
	require.NoError(t, err)
	r.clock.move(31 * time.Second)
	_, err = r.app.Send(t.Context(), limited)
	require.NoError(t, err)
}

func TestSend_BurstToOneChat_StaysBelowItsRate(t *testing.T) {
	r := newRig(t, fakefeishu.Config{ChatRate: 5}, func(o *Options) { o.Timing.Spacing = 0 })
	for i := range 12 {
		_, err := r.send(r.row("oc_p", fmt.Sprint("job", i), fmt.Sprint("m", i)))
		require.NoError(t, err)
	}
	require.Len(t, r.shown("oc_p"), 12)
	require.Len(t, r.feishu.Calls(http.MethodPost, sends), 12, "nothing was refused")
}

// After an hour Feishu does not know a uuid any more: sending again could show it twice.
func TestSend_UnknownForTooLong_IsLookedUp(t *testing.T) {
	for name, c := range map[string]struct {
		first fakefeishu.Fault
		then  *fakefeishu.Fault // of the look
		err   string
		shown int
	}{
		"it was sent":       {first: fakefeishu.Fault{Cut: true, Path: sends}, shown: 1},
		"it was not sent":   {first: fakefeishu.Fault{Drop: true, Path: sends}, shown: 1},
		"nobody can say":    {first: fakefeishu.Fault{Cut: true, Path: sends}, then: &fakefeishu.Fault{Method: http.MethodGet, Path: sends, Code: 99991672, Times: -1}, err: "may have been sent", shown: 1},
		"the look fails":    {first: fakefeishu.Fault{Cut: true, Path: sends}, then: &fakefeishu.Fault{Method: http.MethodGet, Path: sends, Status: 502, Times: 3}, shown: 1},
		"surely not before": {first: fakefeishu.Fault{Code: 230020, Path: sends}, then: &fakefeishu.Fault{Method: http.MethodGet, Path: sends, Code: 99991672, Times: -1}, shown: 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, fakefeishu.Config{}, nil)
			_, err := r.send(r.row("oc_p", "job0", "from before"))
			require.NoError(t, err)
			r.clock.move(10 * time.Minute)
			o := r.row("oc_p", "job1", "hello")
			r.feishu.Arrange(c.first)
			_, err = r.app.Send(t.Context(), o)
			require.Error(t, err)
			r.clock.move(70 * time.Minute)
			if c.then != nil {
				r.feishu.Arrange(*c.then)
			}
			id, err := r.send(o)
			if c.err != "" {
				require.ErrorIs(t, err, activities.ErrRefused)
				require.ErrorContains(t, err, c.err)
			} else {
				require.NoError(t, err)
				shown := r.feishu.Shown("oc_p")
				require.Equal(t, shown[len(shown)-1].ID, id)
			}
			require.Len(t, r.shown("oc_p"), 1+c.shown)
		})
	}
}

// As long as Feishu surely knows the uuid it is not looked up but sent again.
func TestSend_UnknownForLessThan50Minutes_IsSentAgainWithTheSameUUID(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	o := r.row("oc_p", "job1", "hello")
	r.feishu.Arrange(fakefeishu.Fault{Cut: true, Path: sends})
	_, err := r.app.Send(t.Context(), o)
	require.Error(t, err)
	r.clock.move(49 * time.Minute)
	r.app = New(r.app.opts) // another process
	_, err = r.send(o)
	require.NoError(t, err)
	require.Empty(t, r.feishu.Calls(http.MethodGet, sends))
	calls := r.feishu.Calls(http.MethodPost, sends)
	require.Len(t, calls, 2)
	require.Equal(t, calls[0].UUID, calls[1].UUID)
	require.Len(t, r.shown("oc_p"), 1)
}

// The list of a chat has nothing of its threads: they are looked up by themselves.
func TestSend_UnknownForTooLongInAThread_IsLookedUpThere(t *testing.T) {
	inThread := func(o *Options) { o.ReplyInThread, o.Timing.Card = true, time.Hour }
	for name, fault := range map[string]fakefeishu.Fault{"it was sent": {Cut: true, Path: "/reply"}, "it was not sent": {Drop: true, Path: "/reply"}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, fakefeishu.Config{}, inThread)
			r.start()
			mention := []fakefeishu.Mention{fakefeishu.MentionBot}
			_, turn := r.asked(fakefeishu.Said{ChatID: "oc_t", ChatType: "group", Text: "@_user_1 hi", Mentions: mention, ThreadID: "omt_1"})
			o := r.answer(turn, "hello")
			r.feishu.Arrange(fault)
			_, err := r.app.Send(t.Context(), o)
			require.Error(t, err)
			r.clock.move(70 * time.Minute)
			_, err = r.send(o)
			require.NoError(t, err)
			require.Equal(t, []string{"interactive: hello"}, r.shown("oc_t"))
		})
	}
	// A thread that the message was to begin has no name yet: nobody can say.
	r := newRig(t, fakefeishu.Config{}, inThread)
	r.start()
	_, turn := r.asked(fakefeishu.Said{ChatID: "oc_g", ChatType: "group", Text: "@_user_1 hi", Mentions: []fakefeishu.Mention{fakefeishu.MentionBot}})
	o := r.answer(turn, "hello")
	r.feishu.Arrange(fakefeishu.Fault{Cut: true, Path: "/reply"})
	_, err := r.app.Send(t.Context(), o)
	require.Error(t, err)
	r.clock.move(70 * time.Minute)
	_, err = r.send(o)
	require.ErrorContains(t, err, "may have been sent")
	require.Len(t, r.shown("oc_g"), 1)
}

func TestBaseURL_NamesAndAddresses(t *testing.T) {
	for domain, want := range map[string]string{"": "https://open.feishu.cn", "feishu": "https://open.feishu.cn", "lark": "https://open.larksuite.com", "http://127.0.0.1:1/": "http://127.0.0.1:1"} {
		require.Equal(t, want, BaseURL(domain))
	}
}

func TestClassOf_WhatIsNotFeishusAnswer_MayHaveBeenDone(t *testing.T) {
	require.Equal(t, unknown, classOf(errors.New("connection reset")))
	require.Equal(t, unknown, classOf(&Error{Status: 503}))
	require.Equal(t, unknown, classOf(answer(200, nil, []byte("<html>"), nil)))
	require.Equal(t, unknown, classOf(answer(403, nil, []byte("<html>blocked by the proxy"), nil)))
	require.Equal(t, unknown, classOf(answer(404, nil, []byte("404 page not found"), nil)))
	require.Equal(t, unknown, classOf(answer(302, nil, []byte("{}"), nil)))
	require.Equal(t, later, classOf(&Error{Status: 429}))
	require.Equal(t, later, classOf(&notAskedError{errors.New("refused")}))
	require.Equal(t, content, classOf(&Error{Status: 400, Code: 123456}))
	require.Equal(t, time.Minute, retryAfter(&Error{RetryAfter: time.Hour}))
}

func TestSend_ToAPerson_ByWhatKindOfIDItIs(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	for i, id := range []string{"ou_alice", "on_alice"} {
		_, err := r.app.Send(t.Context(), r.row(id, fmt.Sprint("job", i), "good morning"))
		require.NoError(t, err)
		require.Equal(t, []string{"interactive: good morning"}, r.shown("oc_with_"+id))
	}
}

func TestCall_FeishuCannotBeReached_IsSaidOnce(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	a := newAPI(Options{AppID: "cli_a", AppSecret: "s", Domain: gone.URL, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	err := a.call(t.Context(), http.MethodGet, "/open-apis/bot/v3/info", nil, nil, nil)
	require.ErrorAs(t, err, new(*notAskedError))
	require.Equal(t, 1, strings.Count(err.Error(), "cannot be reached"), err.Error())
}
