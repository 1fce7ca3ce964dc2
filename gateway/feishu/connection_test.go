package feishu

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/testkit/fakefeishu"
)

// hears checks that messages arrive.
func (r *rig) hears(chatID string) {
	r.Helper()
	r.feishu.Say(fakefeishu.Said{ChatID: chatID, Text: "hello"})
	r.only(chatID)
}

func TestConnection_ThatEnds_IsMadeAnew(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	r.hears("oc_1")
	r.feishu.Drop()
	r.hears("oc_2")
	r.eventually("it is well again", func() bool { return r.channel.Status() == OK })
	r.stop()
	r.eventually("it is closed", func() bool { open, _ := r.feishu.Connections(); return open == 0 })
}

func TestConnection_ThatAnswersNothing_IsNoticedAndReplaced(t *testing.T) {
	r := newRig(t, fakefeishu.Config{PingSeconds: 1}, func(o *Options) { o.Timing.Silence = 200 * time.Millisecond })
	r.start()
	r.hears("oc_1")
	r.feishu.Deafen(fakefeishu.Silent)
	r.eventually("another one is made", func() bool { _, ever := r.feishu.Connections(); return ever > 1 })
	r.hears("oc_2")
	require.Contains(t, r.logs.String(), whySilent)
}

// It answers pings, so nobody would notice: what Feishu has for it, nobody gets.
func TestConnection_ThatFeishuForgot_IsReplacedWithoutAGap(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, func(o *Options) { o.Timing.Stale = 300 * time.Millisecond })
	r.start()
	r.feishu.Deafen(fakefeishu.Forgotten)
	r.hears("oc_1")
	r.eventually("the old one is closed", func() bool { open, _ := r.feishu.Connections(); return open == 1 })
	require.Equal(t, OK, r.channel.Status())
}

func TestConnection_SeveralOfOneApp_EachEventGoesToOne(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	second := r.app.Channel(r.ingest)
	ctx, cancel := testContext()
	done := make(chan error, 1)
	go func() { done <- second.Run(ctx) }()
	defer func() { cancel(); require.NoError(t, <-done) }()
	r.eventually("both are connected", func() bool { open, _ := r.feishu.Connections(); return open == 2 })
	for range 20 {
		r.feishu.Say(fakefeishu.Said{ChatID: "oc_p", Text: "hello"})
	}
	r.eventually("all arrive", func() bool { return len(r.turns("oc_p")) == 20 })
	r.acknowledged()
	require.Len(t, r.turns("oc_p"), 20)
}

func TestConnection_WrongSecret_IsAnErrorUntilItIsRight(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.feishu.Arrange(fakefeishu.Fault{Path: "tenant_access_token", Code: 10014, Msg: "app secret invalid", Times: 3},
		fakefeishu.Fault{Path: "ws/endpoint", Status: 500, Code: 1, Times: 2})
	r.run()
	r.eventually("it says so", func() bool { return r.channel.Status() == Failing })
	r.eventually("it goes on trying", func() bool { return r.channel.Status() == OK })
	r.hears("oc_1")
}

func TestConnection_StoppedAtAnyMoment_IsGone(t *testing.T) {
	for range 5 {
		r := newRig(t, fakefeishu.Config{}, nil)
		r.run()
		r.stop()
	}
	r := newRig(t, fakefeishu.Config{}, nil)
	r.feishu.Arrange(fakefeishu.Fault{Path: "ws/endpoint", Hang: true})
	r.run()
	r.eventually("it is asked for", func() bool { return len(r.feishu.Calls("", "ws/endpoint")) > 0 })
	r.stop()
}

func TestBackoff_GrowsToItsLimit_AndDiffersFromTryToTry(t *testing.T) {
	b := newBackoff(10 * time.Second)
	var last time.Duration
	seen := map[time.Duration]bool{}
	for range 50 {
		last = b.next()
		require.LessOrEqual(t, last, 10*time.Second)
		seen[last] = true
	}
	require.GreaterOrEqual(t, last, 5*time.Second)
	require.Greater(t, len(seen), 10)
	b.reset()
	require.LessOrEqual(t, b.next(), firstWait)
}

func TestRedact_HidesKeys(t *testing.T) {
	for in, want := range map[string]string{
		"connected to wss://x/ws?access_key=abc&service_id=1&ticket=def": "connected to wss://x/ws?access_key=****&service_id=1&ticket=****",
		`{"app_secret":"abc"}`:                `{"app_secret":"****"}`,
		"Authorization: Bearer t-g1044abcdef": "Authorization: Bearer ****",
		"token t-g1044abc.def failed":         "token **** failed",
		"the default-timeout is t-1":          "the default-timeout is t-1",
	} {
		require.Equal(t, want, redact(in))
	}
}

// Connecting is not being well: after a while it is said as an error.
func TestStatus_ConnectingForLong_IsAnErrorUntilThereIsAConnection(t *testing.T) {
	r := newRig(t, fakefeishu.Config{}, nil)
	r.start()
	r.clock.move(time.Hour)
	require.Equal(t, OK, r.channel.Status())
	r.feishu.Arrange(fakefeishu.Fault{Path: "ws/endpoint", HTML: true, Status: 403, Times: -1})
	r.feishu.Drop()
	r.eventually("it is noticed", func() bool { return r.channel.Status() == Connecting })
	r.clock.move(time.Minute)
	require.Equal(t, Connecting, r.channel.Status())
	r.clock.move(61 * time.Second)
	require.Equal(t, Failing, r.channel.Status())
	r.feishu.Repair()
	r.eventually("it is well again", func() bool { return r.channel.Status() == OK })
	r.feishu.Drop()
	r.eventually("the time counts anew", func() bool { return r.channel.Status() == Connecting || r.channel.Status() == OK })
	require.NotEqual(t, Failing, r.channel.Status())
}
