package feishu

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/activities"
	"picobot/internal/testkit/fakefeishu"
	"picobot/internal/tools"
	"picobot/store"
)

// deliver is the Deliver activity as the worker runs it, on a row of this record.
func (r *rig) deliver(o store.Outbound) (store.Outbound, error) {
	r.Helper()
	none, err := tools.NewRegistry(tools.Options{})
	require.NoError(r, err)
	acts := activities.New(activities.Deps{Record: r.record, Tools: none, Senders: map[string]activities.Sender{"feishu": r.app},
		Mask: func(s string) string { return s }, Now: r.clock.now, Logger: slog.New(slog.DiscardHandler)})
	err = acts.Deliver(r.Context(), o.ID)
	o, lookErr := r.record.Outbound(r.Context(), o.ID)
	require.NoError(r, lookErr)
	return o, err
}

// outcome is what becomes of an answer that Feishu refuses.
type outcome struct {
	tries  int    // requests that were to show it
	status string // of its row
	shown  string // "" = nothing; "it" = the answer; "notice" = that there is one
	how    string // "" = as a reply; "chat" = to the chat; "flat" = as a reply outside of threads
}

// Every code of Feishu's that has a meaning here: what is done about it, what the
// record says, and what people see.
func TestSend_EveryCodeOfFeishus_IsDealtWithAsItsClass(t *testing.T) {
	waits := outcome{tries: 1, status: "pending"}
	again := outcome{tries: 1, status: "pending"}
	token := outcome{tries: 2, status: "failed"}
	operator := outcome{tries: 1, status: "failed"}
	stops := outcome{tries: 1, status: "failed"}
	chat := outcome{tries: 1, status: "sent", shown: "it", how: "chat"}
	flat := outcome{tries: 1, status: "sent", shown: "it", how: "flat"}
	tells := outcome{tries: 1, status: "failed", shown: "notice"}
	forms := outcome{tries: 3, status: "failed", shown: "notice"}
	r := newRig(t, fakefeishu.Config{}, func(o *Options) { o.ReplyInThread, o.Hub = true, nil })
	r.start()
	for class, group := range map[class]struct {
		codes []int
		want  outcome
	}{
		later:   {[]int{99991400, 11232, 230020, 230049, 200810}, waits},
		unknown: {[]int{300120}, again},
		stale:   {[]int{99991661, 99991663, 99991664, 99991668, 99991671, 99991677}, token},
		setup:   {[]int{99991672, 99991662, 99991403, 99991401, 10003, 10014, 11205, 230006, 230027}, operator},
		gone:    {[]int{230002, 232009, 230013, 230029, 230053, 230050}, stops},
		// What is answered is gone, the chat is not.
		recalled:  {[]int{230011, 231003, 230019}, chat},
		noThread:  {[]int{230071, 230072}, flat},
		forbidden: {[]int{230018, 230022, 230028, 230035, 230038, 230075, 230015}, tells},
		content: {[]int{230001, 230025, 230054, 230055, 230099, 230111, 231001, 234043, 11310, 200570, 200621, 200861, 100290,
			200740, 200750, 200770, 200850, 300309, 200860, 300301, 300302, 300303, 300305, 300310, 300311, 300317, 123456789}, forms},
	} {
		for _, code := range group.codes {
			chat, words := fmt.Sprint("oc_", code), fmt.Sprintf("hello, %d", code)
			asked, turn := r.asked(fakefeishu.Said{ChatID: chat, ChatType: "group", Text: "@_user_1 hi", Mentions: []fakefeishu.Mention{fakefeishu.MentionBot}})
			o := r.answer(turn, words)
			f := fakefeishu.Fault{Code: code, Msg: "said by feishu", Path: sends, Body: "hello", Times: -1}
			if class == recalled || class == noThread {
				f.Times = 1
			}
			r.feishu.Arrange(f)
			require.Equal(t, class, classOf(&Error{Status: 400, Code: code}), code)
			o, err := r.deliver(o)
			r.feishu.Repair()

			tries := 0
			for _, c := range r.feishu.Calls(http.MethodPost, sends) {
				if strings.Contains(c.Body, words) {
					tries++
				}
			}
			if group.want.how != "" {
				tries-- // the one that was refused
			}
			require.Equal(t, group.want.tries, tries, code)
			require.Equal(t, group.want.status, o.Status, code)
			if group.want.status == "sent" {
				require.NoError(t, err, code)
			} else {
				require.Error(t, err, code)
				require.Contains(t, o.Error, fmt.Sprintf("(code %d): said by feishu", code), "the row says what Feishu says")
				require.Contains(t, o.Error, "20261130fake", "and by what Feishu's support finds it")
			}
			if group.want.status == "failed" {
				require.Regexp(t, fmt.Sprintf(`feishu does not take a message.*chat=%s .*code %d`, chat, code), r.logs.String())
			}
			shown := r.feishu.Shown(chat)
			switch group.want.shown {
			case "":
				require.Empty(t, shown, code)
				continue
			case "notice":
				require.Contains(t, r.shown(chat)[0], fmt.Sprint(code))
				require.NotContains(t, r.shown(chat)[0], words)
			default:
				require.Equal(t, []string{"interactive: " + words}, r.shown(chat))
			}
			require.Len(t, shown, 1, code)
			switch group.want.how {
			case "chat":
				require.Empty(t, shown[0].ParentID, code)
			case "flat":
				require.Equal(t, asked, shown[0].ParentID, code)
				require.Empty(t, shown[0].ThreadID, code)
			default:
				require.Equal(t, asked, shown[0].ParentID, code)
				require.NotEmpty(t, shown[0].ThreadID, code)
			}
		}
	}
}

// Where nothing but a page comes back, nobody knows what was done with the request:
// the same uuid is tried, and after that the chat is looked at, but not for ever.
func TestSend_SomethingOnTheWayKeepsAMessageBack_ItIsGivenUpAfterHours(t *testing.T) {
	for _, status := range []int{200, 403, 407, 451} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			r := newRig(t, fakefeishu.Config{}, nil)
			o := r.row("oc_p", "job1", "what the proxy does not like")
			r.feishu.Arrange(fakefeishu.Fault{HTML: true, Status: status, Path: sends, Body: "does not like", Times: -1})
			var err error
			took := time.Duration(0)
			for ; o.Status == "pending"; took += 10 * time.Minute {
				o, err = r.deliver(o)
				require.Error(t, err)
				if o.Status == "pending" {
					require.Contains(t, o.Error, fmt.Sprintf("instead of feishu (HTTP status %d)", status))
				}
				require.Less(t, took, 12*time.Hour)
				r.clock.move(10 * time.Minute)
			}
			require.Greater(t, took, 2*time.Hour)
			require.Equal(t, "failed", o.Status)
			require.Contains(t, o.Error, "was not sent")
			require.Contains(t, r.logs.String(), "a message is given up")
			require.Empty(t, r.shown("oc_p"))
			again, err := r.deliver(r.row("oc_p", "job2", "another"))
			require.NoError(t, err)
			require.Equal(t, "sent", again.Status)
		})
	}
}

// A Feishu that cannot be asked for a day does not say whether it was sent.
func TestSend_NobodySaysForADayWhetherItIsThere_MayHaveBeenSent(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	o := r.row("oc_p", "job1", "hello")
	r.feishu.Arrange(fakefeishu.Fault{Cut: true, Path: sends})
	_, err := r.deliver(o)
	require.Error(t, err)
	r.feishu.Arrange(fakefeishu.Fault{HTML: true, Status: 403, Path: sends, Times: -1})
	r.clock.move(23 * time.Hour)
	o, err = r.deliver(o)
	require.Error(t, err)
	require.Equal(t, "pending", o.Status)
	r.clock.move(2 * time.Hour)
	o, err = r.deliver(o)
	require.Error(t, err)
	require.Equal(t, "failed", o.Status)
	require.Contains(t, o.Error, "may have been sent")
	require.Len(t, r.shown("oc_p"), 1)
}

// What surely was not sent waits as long as it takes.
func TestSend_LoginThatIsKeptBack_WaitsAndSaysWhy(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	o := r.row("oc_p", "job1", "hello")
	r.feishu.Arrange(fakefeishu.Fault{HTML: true, Status: 407, Path: "tenant_access_token", Times: -1})
	for range 10 {
		var err error
		o, err = r.deliver(o)
		require.Error(t, err)
		require.Equal(t, "pending", o.Status, o.Error)
		require.Contains(t, o.Error, "feishu cannot be reached: something on the way answered instead of feishu (HTTP status 407)")
		r.clock.move(24 * time.Hour)
	}
	r.feishu.Repair()
	o, err := r.deliver(o)
	require.NoError(t, err)
	require.Equal(t, "sent", o.Status)
	require.Len(t, r.shown("oc_p"), 1)
}

// The reply got through, nobody heard of it, and then what it answers is taken back:
// whatever Feishu makes of the uuid, people see it once.
func TestSend_LostReplyToAMessageThatWasTakenBack_IsSeenOnce(t *testing.T) {
	for name, apart := range map[string]bool{"a uuid is one of the chat": false, "replies have uuids of their own": true} {
		for what, fault := range map[string]fakefeishu.Fault{"it was sent": {Cut: true, Path: "/reply"}, "it was not sent": {Drop: true, Path: "/reply"}} {
			t.Run(name+", "+what, func(t *testing.T) {
				r := newRig(t, fakefeishu.Config{UUIDApart: apart}, func(o *Options) { o.Hub = nil })
				r.start()
				asked, turn := r.asked(fakefeishu.Said{ChatID: "oc_p", Text: "hi"})
				o := r.answer(turn, "hello")
				r.feishu.Arrange(fault)
				_, err := r.deliver(o)
				require.Error(t, err)
				r.feishu.Recall(asked)
				o, err = r.deliver(o)
				require.NoError(t, err)
				require.Equal(t, []string{"interactive: hello"}, r.shown("oc_p"))
				require.Equal(t, r.feishu.Shown("oc_p")[0].ID, o.ExternalID)
			})
		}
	}
}
