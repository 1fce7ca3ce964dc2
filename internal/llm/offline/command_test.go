package offline

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func requireCommand(t *testing.T, want command, text string) {
	t.Helper()
	require.Empty(t, cmp.Diff(want, parse(text), cmp.AllowUnexported(command{}, call{})))
}

func TestCommandsThatAreToolCalls(t *testing.T) {
	for text, want := range map[string]call{
		"calc 1+1 * (2)":              {"calculator", `{"expression":"1+1 * (2)"}`},
		"calc \n 7":                   {"calculator", `{"expression":"7"}`},
		"time":                        {"get_time", `{}`},
		"read a b.txt":                {"file_read", `{"path":"a b.txt"}`},
		"write a.txt two  words\n\nx": {"file_write", `{"content":"two  words\n\nx","path":"a.txt"}`},
		"run ls -l | wc":              {"bash", `{"command":"ls -l | wc"}`},
		"fetch https://example.com/":  {"web_fetch", `{"url":"https://example.com/"}`},
		"remember tea = green = yes":  {"memory_manage", `{"action":"put","content":"green = yes","key":"tea","namespace":"notes"}`},
		"remember a b=c":              {"memory_manage", `{"action":"put","content":"c","key":"a b","namespace":"notes"}`},
		"recall 飞书 tea":               {"memory_search", `{"action":"search","query":"飞书 tea"}`},
	} {
		t.Run(text, func(t *testing.T) { requireCommand(t, command{calls: []call{want}}, text) })
	}
}

func TestCommandsThatMakeJobs(t *testing.T) {
	type job struct {
		ID       string
		Kind     string
		Schedule struct {
			Type    string
			Seconds int
		}
		Payload struct{ Content string }
		Target  json.RawMessage
	}
	for text, want := range map[string]struct {
		schedule string
		seconds  int
		content  string
	}{
		"in 10s say hello there": {"delay", 10, "hello there"},
		"in 5m say x":            {"delay", 300, "x"},
		"every 1m say tick":      {"interval", 60, "tick"},
		"every 2h say say so":    {"interval", 7200, "say so"},
	} {
		t.Run(text, func(t *testing.T) {
			got := parse(text)
			require.Len(t, got.calls, 1)
			require.Equal(t, "scheduler_manage", got.calls[0].name)
			var arguments struct {
				Action string
				Job    job
			}
			require.NoError(t, json.Unmarshal([]byte(got.calls[0].arguments), &arguments))
			require.Equal(t, "put", arguments.Action)
			require.Equal(t, "outbound_message", arguments.Job.Kind)
			require.Equal(t, want.schedule, arguments.Job.Schedule.Type)
			require.Equal(t, want.seconds, arguments.Job.Schedule.Seconds)
			require.Equal(t, want.content, arguments.Job.Payload.Content)
			require.Nil(t, arguments.Job.Target, "the turn gives the target")
			require.Regexp(t, `^agent\.say_[0-9a-f]{8}$`, arguments.Job.ID)
			require.Equal(t, got, parse(text), "the same text makes the same job")
		})
	}
	require.NotEqual(t, parse("in 1s say a"), parse("in 1s say b"))
}

func TestCommandsThatAreNoSingleToolCall(t *testing.T) {
	second, half := time.Second, 500*time.Millisecond
	for text, want := range map[string]command{
		"loop 3":                {loop: 3},
		"slow 1":                {slow: &second},
		"slow 0.5":              {slow: &half},
		"fail 429":              {fail: 429},
		"fail 529":              {fail: 529},
		"tools time; calc 1+1;": {calls: []call{{"get_time", "{}"}, {"calculator", `{"expression":"1+1"}`}}},
	} {
		t.Run(text, func(t *testing.T) { requireCommand(t, want, text) })
	}
}

func TestAnythingElseIsNoCommand(t *testing.T) {
	for _, text := range []string{
		"", "hello", "calc", "time flies", "Time", "read", "write", "write a.txt", "run", "fetch", "fetch a b",
		"remember", "remember tea", "remember = x", "remember x =", "recall",
		"in", "in 10s", "in 10s say", "in 10 say x", "in s say x", "in -5s say x", "in 0s say x", "in 1d say x", "in 1.5s say x",
		"in 99999999999999999999s say x", "in 9223372036854775807h say x", "in 10s tell x", "every 1m", "everything",
		"tools", "tools ;", "tools time; hello", "tools tools time", "tools loop 2", "tools fail 500", "tools slow 1",
		"loop", "loop 0", "loop -1", "loop x", "loop 1 2", "loop 99999999999999999999",
		"slow", "slow -1", "slow x", "slow 1e3", "slow inf", "slow .5", "slow 1.", "slow 999999999", "slow 1 2",
		"fail", "fail 200", "fail 399", "fail 600", "fail x",
		"calculate 1", "timely", "reads x",
	} {
		t.Run(text, func(t *testing.T) { requireCommand(t, command{}, text) })
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"calc 1", "time", "write a b", "remember a = b", "in 10s say x", "every 1h say x", "tools time; calc 1",
		"loop 3", "slow 0.1", "fail 500", "x\xff; =", "in 99999999999s say x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := parse(text)
		set := 0
		for _, is := range []bool{got.calls != nil, got.loop != 0, got.slow != nil, got.fail != 0} {
			if is {
				set++
			}
		}
		if set > 1 || got.loop < 0 || (got.slow != nil && *got.slow < 0) || (got.fail != 0 && (got.fail < 400 || got.fail > 599)) {
			t.Fatalf("%q became %+v", text, got)
		}
		for _, c := range got.calls {
			var arguments map[string]any
			if err := json.Unmarshal([]byte(c.arguments), &arguments); err != nil || c.name == "" {
				t.Fatalf("%q became %+v: %v", text, c, err)
			}
		}
		if diff := cmp.Diff(got, parse(text), cmp.AllowUnexported(command{}, call{})); diff != "" {
			t.Fatalf("%q is read in two ways:\n%s", text, diff)
		}
	})
}
