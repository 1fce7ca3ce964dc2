package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/tools"
)

type probeArgs struct {
	Text   string            `json:"text" jsonschema:"some text"`
	Count  int               `json:"count,omitempty" jsonschema:"a number"`
	Ratio  float64           `json:"ratio,omitempty"`
	Force  bool              `json:"force,omitempty"`
	Action string            `json:"action,omitempty"`
	Names  []string          `json:"names,omitempty"`
	Header map[string]string `json:"header,omitempty"`
	Any    any               `json:"any,omitempty"`
}

// probe is a tool that returns its arguments as JSON.
func probe() tools.Tool {
	return tools.New(tools.Spec[probeArgs]{
		Name:        "probe",
		Description: "Returns its arguments.",
		Effect:      tools.ReadOnly,
		EffectOf: func(a probeArgs) tools.Effect {
			if a.Force {
				return tools.Outside
			}
			return tools.ReadOnly
		},
		Summary: func(a probeArgs) string { return a.Text },
		Refine: func(s *jsonschema.Schema) {
			s.Properties["action"].Enum = []any{"get", "list"}
			s.Properties["count"].Minimum = jsonschema.Ptr(0.0)
		},
	}, func(_ context.Context, _ tools.Call, a probeArgs) (string, error) {
		text, err := json.Marshal(a)
		return string(text), err
	})
}

// says is a tool that returns what it was made with.
func says(content string, err error) tools.Tool {
	return tools.New(tools.Spec[struct{}]{Name: "says", Description: "Says it.", Effect: tools.Record},
		func(context.Context, tools.Call, struct{}) (string, error) { return content, err })
}

func TestArgumentsAreReadHoweverTheModelWritesThem(t *testing.T) {
	r := registry(t, tools.Options{}, probe(), says("said", nil))
	for arguments, want := range map[string]string{
		`{"text":"a"}`:                                `{"text":"a"}`,
		" \n{\"text\" : \"a\"}\t":                     `{"text":"a"}`,
		`"{\"text\":\"a\"}"`:                          `{"text":"a"}`,
		`"\"{\\\"text\\\":\\\"a\\\"}\""`:              `{"text":"a"}`,
		`{"text":"a","count":5.0}`:                    `{"text":"a","count":5}`,
		`{"text":"a","count":5e2}`:                    `{"text":"a","count":500}`,
		`{"text":"a","count":null,"names":null}`:      `{"text":"a"}`,
		`{"text":"a","ratio":2}`:                      `{"text":"a","ratio":2}`,
		`{"text":"a","ratio":0.5,"force":true}`:       `{"text":"a","ratio":0.5,"force":true}`,
		`{"text":"a","action":"list"}`:                `{"text":"a","action":"list"}`,
		`{"text":"a","names":["x"]}`:                  `{"text":"a","names":["x"]}`,
		`{"text":"a","header":{"K":"v"}}`:             `{"text":"a","header":{"K":"v"}}`,
		`{"text":"a","any":{"x":[1]}}`:                `{"text":"a","any":{"x":[1]}}`,
		`{"text":"\u98de\u4e66"}`:                     `{"text":"飞书"}`,
		`{"text":"first","text":"last"}`:              `{"text":"last"}`,
		"{\"text\":\"\xff\"}":                         "{\"text\":\"\uFFFD\"}",
		`{"text":"` + strings.Repeat("x", 500) + `"}`: `{"text":"` + strings.Repeat("x", 500) + `"}`,
	} {
		require.Equal(t, want, requireOK(t, r.Run(t.Context(), tools.Call{}, "probe", arguments)), arguments)
	}
	for _, nothing := range []string{"", " ", "{}", "null", `""`, `"{}"`, `"null"`} {
		require.Equal(t, "said", requireOK(t, r.Run(t.Context(), tools.Call{}, "says", nothing)), nothing)
	}
}

func TestBadArgumentsAreExplained(t *testing.T) {
	r := registry(t, tools.Options{}, probe(), says("", nil))
	for arguments, want := range map[string][]string{
		``:                                 {`missing argument "text"`},
		`{}`:                               {`missing argument "text"`, "probe takes one JSON object with: text (string), count (integer, optional)", "action (get | list, optional)"},
		`{"text":null}`:                    {`missing argument "text"`},
		`{"txt":"a"}`:                      {`unknown argument "txt" (did you mean "text"?)`, `missing argument "text"`},
		`{"text":"a","Text":"b"}`:          {`unknown argument "Text" (did you mean "text"?)`},
		`{"text":"a","zzzzzzzzz":1}`:       {`unknown argument "zzzzzzzzz".`},
		`{"text":1}`:                       {`argument "text" must be a string, not an integer`},
		`{"text":["a"]}`:                   {`argument "text" must be a string, not an array`},
		`{"text":{"a":1}}`:                 {`argument "text" must be a string, not an object`},
		`{"text":"a","count":"5"}`:         {`argument "count" must be an integer, not a string`},
		`{"text":"a","count":5.5}`:         {`argument "count" must be an integer, not a number`},
		`{"text":"a","count":1e99}`:        {`argument "count" is out of range`},
		`{"text":"a","count":1e999999}`:    {`argument "count" must be an integer, not a number`},
		`{"text":"a","count":-1}`:          {`argument "count" must be at least 0`},
		`{"text":"a","force":"true"}`:      {`argument "force" must be a boolean, not a string`},
		`{"text":"a","ratio":true}`:        {`argument "ratio" must be a number, not a boolean`},
		`{"text":"a","action":"drop"}`:     {`argument "action" must be one of get | list`},
		`{"text":"a","names":"x"}`:         {`argument "names" must be an array, not a string`},
		`{"text":"a","names":[1]}`:         {`argument "names"`},
		`{"text":"a","header":{"K":1}}`:    {`argument "header"`},
		`{"text":1,"count":"x","bad":0}`:   {`"text" must be`, `"count" must be`, `unknown argument "bad"`},
		`{"text":"a"`:                      {"not valid JSON: they end in the middle"},
		`{"text":"a`:                       {"not valid JSON: they end in the middle"},
		`{text:"a"}`:                       {"not valid JSON"},
		`{'text':'a'}`:                     {"not valid JSON"},
		"{\"text\":\"a\nb\"}":              {"not valid JSON"},
		`{"text":"a"}{"text":"b"}`:         {"nothing after it"},
		`{"text":"a"} trailing`:            {"nothing after it"},
		`[{"text":"a"}]`:                   {"must be one JSON object"},
		`"text"`:                           {"not valid JSON"},
		`"unfinished`:                      {"not valid JSON"},
		`5`:                                {"must be one JSON object"},
		`true`:                             {"must be one JSON object"},
		"```json\n{\"text\":\"a\"}\n```":   {"not valid JSON"},
		"\x00":                             {"not valid JSON"},
		"\xff":                             {"not valid JSON"},
		`"\"\\\"\\\\\\\"{}\\\\\\\"\\\"\""`: {"must be one JSON object"},
		strings.Repeat("[", 100000):        {"not valid JSON"},
		`{"text":"` + strings.Repeat("x", 1<<20) + `"}`:      {"smaller parts"},
		`{"` + strings.Repeat("n", 5000) + `":1,"text":"a"}`: {"unknown argument"},
	} {
		result := r.Run(t.Context(), tools.Call{}, "probe", arguments)
		for _, w := range want {
			requireError(t, result, w)
		}
		require.Less(t, len(result.Content), 1500, "an error as long as the mistake")
	}
	requireError(t, r.Run(t.Context(), tools.Call{}, "says", `{"x":1}`), "says takes no arguments: {}")
}

func TestUnknownToolsAreAnsweredWithTheKnownOnes(t *testing.T) {
	r := registry(t, tools.Options{}, probe(), says("", nil), tools.Calculator())
	requireError(t, r.Run(t.Context(), tools.Call{}, "calculate", `{}`),
		`unknown tool "calculate". Known tools: calculator, `)
	requireError(t, r.Run(t.Context(), tools.Call{}, "sayz\n\x1b[31m", `{}`), `unknown tool "sayz [31m". Known tools: says, `)
	requireError(t, r.Run(t.Context(), tools.Call{}, "", ``), `unknown tool "".`)
	requireError(t, registry(t, tools.Options{}).Run(t.Context(), tools.Call{}, "x", ""), "there are no tools")
}

func TestDisabledToolsAreUnknown(t *testing.T) {
	r := registry(t, tools.Options{Disabled: []string{"probe", "not_there"}}, probe(), says("", nil))
	requireError(t, r.Run(t.Context(), tools.Call{}, "probe", `{"text":"a"}`), "unknown tool")
	_, known := r.Lookup("probe")
	require.False(t, known)
	require.Equal(t, tools.ReadOnly, r.Effect("probe", `{"text":"a","force":true}`))
	definitions := r.Definitions()
	require.Len(t, definitions, 1)
	require.Equal(t, "says", definitions[0].Name)
}

func TestDefinitionsAreSortedAndComplete(t *testing.T) {
	r := registry(t, tools.Options{}, says("", nil), probe(), tools.Calculator())
	definitions := r.Definitions()
	require.Equal(t, "calculator", definitions[0].Name)
	require.Equal(t, "probe", definitions[1].Name)
	require.Equal(t, "says", definitions[2].Name)
	var got, want any
	require.NoError(t, json.Unmarshal(definitions[0].Parameters, &got))
	require.NoError(t, json.Unmarshal([]byte(`{"type":"object","additionalProperties":false,"required":["expression"],"properties":{
		"expression":{"type":"string","description":"the expression, such as 12*7 or round(19.99*1.08, 2)"}}}`), &want))
	require.Empty(t, cmp.Diff(want, got))
	require.JSONEq(t, `{"type":"object","additionalProperties":false,"properties":{}}`, string(definitions[2].Parameters))
	require.NotContains(t, string(definitions[1].Parameters), "null")
	definitions[0].Parameters[0] = 'x' // a caller's copy
	require.JSONEq(t, string(definitions[1].Parameters), string(r.Definitions()[1].Parameters))
	require.True(t, json.Valid(r.Definitions()[0].Parameters))
}

func TestBuiltInToolsHaveTheirContractsArguments(t *testing.T) {
	w := openWorkspace(t)
	r := registry(t, tools.Options{}, tools.Bash(w, tools.BashOptions{}), tools.Calculator(), tools.FileEdit(w),
		tools.FileRead(w, 0), tools.FileWrite(w), tools.GetTime(time.Now, nil), tools.HTTPRequest(tools.HTTPOptions{}), tools.WebFetch(tools.HTTPOptions{}))
	want := map[string]struct {
		required, optional []string
		effect             tools.Effect
	}{
		"bash":         {[]string{"command"}, []string{"timeout_seconds", "workdir"}, tools.Outside},
		"calculator":   {[]string{"expression"}, nil, tools.ReadOnly},
		"file_edit":    {[]string{"path", "old_text", "new_text"}, []string{"replace_all"}, tools.Outside},
		"file_read":    {[]string{"path"}, []string{"offset", "limit"}, tools.ReadOnly},
		"file_write":   {[]string{"path", "content"}, nil, tools.Outside},
		"get_time":     {nil, []string{"time_zone"}, tools.ReadOnly},
		"http_request": {[]string{"method", "url"}, []string{"headers", "body"}, tools.Outside},
		"web_fetch":    {[]string{"url"}, []string{"max_chars"}, tools.ReadOnly},
	}
	definitions := r.Definitions()
	require.Len(t, definitions, len(want))
	for _, d := range definitions {
		var schema struct {
			Properties map[string]struct{ Type, Description string }
			Required   []string
		}
		require.NoError(t, json.Unmarshal(d.Parameters, &schema))
		require.ElementsMatch(t, want[d.Name].required, schema.Required, d.Name)
		var names []string
		arguments := map[string]any{}
		for name, p := range schema.Properties {
			names = append(names, name)
			require.NotEmpty(t, p.Description, "%s of %s", name, d.Name)
			arguments[name] = map[string]any{"string": "x", "integer": 1, "boolean": true, "object": map[string]any{}}[p.Type]
		}
		require.ElementsMatch(t, append(want[d.Name].required, want[d.Name].optional...), names, d.Name)
		require.Greater(t, len(d.Description), 100, d.Name)
		text, err := json.Marshal(arguments)
		require.NoError(t, err)
		require.Equal(t, want[d.Name].effect, r.Effect(d.Name, string(text)), d.Name)
	}
}

func TestRegistriesRefuseWhatCannotWork(t *testing.T) {
	_, err := tools.NewRegistry(tools.Options{}, probe(), probe())
	require.ErrorContains(t, err, "two tools are called probe")
	_, err = tools.NewRegistry(tools.Options{}, tools.Tool{})
	require.Error(t, err)
	run := func(context.Context, tools.Call, struct{}) (string, error) { return "", nil }
	for _, spec := range []tools.Spec[struct{}]{
		{Name: "Bad Name", Description: "x", Effect: tools.ReadOnly},
		{Name: "x", Effect: tools.ReadOnly},
		{Name: "x", Description: "x"},
	} {
		require.Panics(t, func() { tools.New(spec, run) })
	}
	require.Panics(t, func() {
		tools.New(tools.Spec[string]{Name: "x", Description: "x", Effect: tools.ReadOnly},
			func(context.Context, tools.Call, string) (string, error) { return "", nil })
	})
}

func TestEffectIsThatOfTheCall(t *testing.T) {
	r := registry(t, tools.Options{}, probe(), says("", nil))
	require.Equal(t, tools.ReadOnly, r.Effect("probe", `{"text":"a"}`))
	require.Equal(t, tools.Outside, r.Effect("probe", `{"text":"a","force":true}`))
	require.Equal(t, tools.ReadOnly, r.Effect("probe", `{"force":true}`), "it will be refused")
	require.Equal(t, tools.ReadOnly, r.Effect("probe", `{"text":`), "it will be refused")
	require.Equal(t, tools.Record, r.Effect("says", ``))
	require.Equal(t, tools.ReadOnly, r.Effect("says", `{"x":1}`))
	require.Equal(t, tools.ReadOnly, r.Effect("nothing", ``))
}

func TestSummariesAreOneShortLine(t *testing.T) {
	w := openWorkspace(t)
	r := registry(t, tools.Options{}, probe(), says("", nil), tools.Calculator(), tools.Bash(w, tools.BashOptions{}),
		tools.GetTime(time.Now, nil), tools.FileRead(w, 0))
	for _, c := range []struct {
		name, arguments string
		max             int
		want            string
	}{
		{"bash", `{"command":"go test ./..."}`, 0, "bash: go test ./..."},
		{"calculator", `{"expression":"12*7"}`, 0, "calculator: 12*7"},
		{"file_read", `{"path":"a/b.txt","offset":3}`, 0, "file_read: a/b.txt"},
		{"get_time", `{}`, 0, "get_time"},
		{"get_time", `{"time_zone":"UTC"}`, 0, "get_time: UTC"},
		{"says", ``, 0, "says"},
		{"says", `{"x":1}`, 0, `says: {"x":1}`},
		{"bash", `{"command":"echo 1\n\n  echo\t2 \u001b[31m\u0000\u202e"}`, 0, "bash: echo 1 echo 2 [31m"},
		{"bash", `{"command":"` + strings.Repeat("飞", 200) + `"}`, 10, "bash: 飞飞飞…"},
		{"bash", `{"command":"` + strings.Repeat("x", 500) + `"}`, 0, "bash: " + strings.Repeat("x", 113) + "…"},
		{"bash", `{"command":`, 0, `bash: {"command":`},
		{"bash", "\xff\n", 0, "bash"},
		{"no\nsuch", `{"a":1}`, 0, `no such: {"a":1}`},
		{strings.Repeat("n", 300), ``, 0, strings.Repeat("n", 63) + "…"},
		{"calculator", `{"expression":"12*7"}`, 1, "…"},
	} {
		got := r.Summary(c.name, c.arguments, c.max)
		require.Equal(t, c.want, got)
		require.True(t, utf8.ValidString(got))
	}
}

func TestResultsAreNeverEmptyAndAlwaysText(t *testing.T) {
	for raw, want := range map[string]string{"": "(no output)", " \n\t": "(no output)", "a\xffb\x00": "a\uFFFDb\uFFFD", "ok\n": "ok\n"} {
		require.Equal(t, want, requireOK(t, registry(t, tools.Options{}, says(raw, nil)).Run(t.Context(), tools.Call{}, "says", "")))
	}
}

func TestFailuresAreResults(t *testing.T) {
	run := func(content string, err error) tools.Result {
		return registry(t, tools.Options{}, says(content, err)).Run(t.Context(), tools.Call{}, "says", "")
	}
	why := errors.New("no luck")
	require.Equal(t, tools.Result{Content: "Error: no luck", Failed: true, Err: why}, run("", why))
	require.Equal(t, tools.Result{Content: "Error: no luck\nhalf of it", Failed: true, Err: why}, run("half of it", why))
}

func TestAPanicIsAResultAndALogLine(t *testing.T) {
	var log bytes.Buffer
	broken := tools.New(tools.Spec[struct{}]{Name: "broken", Description: "x", Effect: tools.ReadOnly},
		func(context.Context, tools.Call, struct{}) (string, error) { panic("a secret") })
	r := registry(t, tools.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, broken)
	result := r.Run(t.Context(), tools.Call{TurnID: "T1"}, "broken", "")
	requireError(t, result, "fault in PicoBot")
	require.NotContains(t, result.Content, "secret")
	require.Contains(t, log.String(), "a secret")
	require.Contains(t, log.String(), "T1")
}

func TestNothingRunsOnceTheContextEnded(t *testing.T) {
	for _, cause := range []error{tools.ErrCancelled, tools.ErrShutdown} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		requireError(t, registry(t, tools.Options{}, says("ran", nil)).Run(ctx, tools.Call{}, "says", ""), cause.Error()+" before it began")
	}
}

type fakeTx struct{ writes []string }

func TestRecordToolsWriteThroughTheirCallersTransaction(t *testing.T) {
	note := tools.NewRecord(tools.Spec[probeArgs]{Name: "note", Description: "x"},
		func(_ context.Context, tx *fakeTx, c tools.Call, a probeArgs) (string, error) {
			tx.writes = append(tx.writes, c.TurnID+" "+a.Text)
			return "noted", nil
		})
	r := registry(t, tools.Options{}, note)
	require.Equal(t, tools.Record, r.Effect("note", `{"text":"a"}`))
	tx := &fakeTx{}
	require.Equal(t, "noted", requireOK(t, r.Run(t.Context(), tools.Call{TurnID: "T1", Tx: tx}, "note", `{"text":"a"}`)))
	require.Equal(t, []string{"T1 a"}, tx.writes)
	requireError(t, r.Run(t.Context(), tools.Call{}, "note", `{"text":"a"}`), "without a transaction")
	requireError(t, r.Run(t.Context(), tools.Call{Tx: "something else"}, "note", `{"text":"a"}`), "without a transaction")
}

func TestLongResultsKeepHeadAndTail(t *testing.T) {
	long := "HEAD" + strings.Repeat("飞", 5000) + "TAIL"
	run := func(spill func(tools.Call, string, string) (string, error)) string {
		r := registry(t, tools.Options{MaxResultChars: 1000, Spill: spill}, says(long, nil))
		return requireOK(t, r.Run(t.Context(), tools.Call{TurnID: "T1"}, "says", ""))
	}
	check := func(got string) {
		require.LessOrEqual(t, utf8.RuneCountInString(got), 1000)
		require.Greater(t, utf8.RuneCountInString(got), 990)
		require.True(t, strings.HasPrefix(got, "HEAD飞"))
		require.True(t, strings.HasSuffix(got, "飞TAIL"))
		require.True(t, utf8.ValidString(got))
	}
	got := run(nil)
	check(got)
	var n int
	_, err := fmt.Sscanf(got[strings.Index(got, "[..."):], "[... %d characters left out ...]", &n)
	require.NoError(t, err)
	kept := utf8.RuneCountInString(got) - utf8.RuneCountInString(fmt.Sprintf("\n[... %d characters left out ...]\n", n))
	require.Equal(t, 5008, kept+n)

	got = run(func(c tools.Call, tool, content string) (string, error) {
		require.Equal(t, "T1 says "+long, c.TurnID+" "+tool+" "+content)
		return "out/1.txt", nil
	})
	check(got)
	require.Contains(t, got, "characters left out; the whole is in out/1.txt ...]")

	check(run(func(tools.Call, string, string) (string, error) { return "", errors.New("disk full") }))
}

func TestResultsThatFitAreLeftAlone(t *testing.T) {
	fits := strings.Repeat("飞", 1000) // 3000 bytes
	r := registry(t, tools.Options{MaxResultChars: 1000, Spill: func(tools.Call, string, string) (string, error) {
		return "", errors.New("must not be called")
	}}, says(fits, nil))
	require.Equal(t, fits, requireOK(t, r.Run(t.Context(), tools.Call{}, "says", "")))
}

func TestSpillKeepsTheWholeInTheWorkspace(t *testing.T) {
	w := openWorkspace(t)
	long := strings.Repeat("line\n", 1000)
	r := registry(t, tools.Options{MaxResultChars: 1000, Spill: w.Spill}, says(long, nil), tools.FileRead(w, 0))
	got := requireOK(t, r.Run(t.Context(), tools.Call{}, "says", ""))
	_, rest, _ := strings.Cut(got, "the whole is in ")
	path, _, _ := strings.Cut(rest, " ...]")
	require.Regexp(t, `^\.picobot/output/says-[a-z0-9]+\.txt$`, path)
	require.Equal(t, long, content(t, w.Dir()+"/"+path))
	require.Contains(t, requireOK(t, r.Run(t.Context(), tools.Call{}, "file_read", `{"path":"`+path+`"}`)), "line\nline")
	require.Equal(t, "*\n", content(t, w.Dir()+"/.picobot/output/.gitignore"))
}

// Whatever a model writes, there is one well-formed answer.
func TestRunAlwaysAnswers(t *testing.T) {
	r := registry(t, tools.Options{MaxResultChars: 500}, probe(), says("x", nil), tools.Calculator())
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.SampledFrom([]string{"probe", "says", "calculator"}), rapid.String()).Draw(t, "name")
		arguments := rapid.OneOf(rapid.String(), rapid.StringMatching(`\{("text":("a"|1|null|\[\]))?(,"count":(1|-1|2.5|1e5))?\}`)).Draw(t, "arguments")
		checkAnswer(t, r, name, arguments)
	})
}

func checkAnswer(t interface{ Fatalf(string, ...any) }, r *tools.Registry, name, arguments string) {
	result := r.Run(context.Background(), tools.Call{}, name, arguments)
	switch {
	case result.Content == "" || !utf8.ValidString(result.Content) || strings.Contains(result.Content, "\x00"):
		t.Fatalf("%q(%q) gives %q", name, arguments, result.Content)
	case result.Failed != strings.HasPrefix(result.Content, "Error: "):
		t.Fatalf("%q(%q): failed is %v, the result %q", name, arguments, result.Failed, result.Content)
	case utf8.RuneCountInString(result.Content) > 500:
		t.Fatalf("%q(%q) gives %d characters", name, arguments, utf8.RuneCountInString(result.Content))
	}
	if s := r.Summary(name, arguments, 40); utf8.RuneCountInString(s) > 40 || !utf8.ValidString(s) || strings.ContainsAny(s, "\n\r\x00\x1b") {
		t.Fatalf("%q(%q) is summarised as %q", name, arguments, s)
	}
	if e := r.Effect(name, arguments); result.Failed && name == "probe" && e != tools.ReadOnly {
		t.Fatalf("%q(%q) is refused and has the effect %s", name, arguments, e)
	}
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{"", "{}", `{"text":"a"}`, `"{\"text\":\"a\"}"`, `{"text":1}`, `{"text":"a","count":1e3}`, `[`, `{"text":"a"}x`, "\xff", `{"text":"a","names":[null]}`} {
		f.Add("probe", s)
	}
	r, err := tools.NewRegistry(tools.Options{MaxResultChars: 500}, probe(), says("x", nil))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, name, arguments string) { checkAnswer(t, r, name, arguments) })
}

// BenchmarkRegistry is what the registry adds to a tool, as a ratio to the same
// work without it.
func BenchmarkRegistry(b *testing.B) {
	r := registry(b, tools.Options{}, probe())
	arguments := `{"text":"hello","count":5,"names":["a","b"]}`
	for b.Loop() {
		if r.Run(context.Background(), tools.Call{}, "probe", arguments).Failed {
			b.Fatal("failed")
		}
	}
	perCall := float64(b.Elapsed()) / float64(b.N)
	const rounds = 20000
	start := time.Now()
	for range rounds {
		var a probeArgs
		if err := json.Unmarshal([]byte(arguments), &a); err != nil {
			b.Fatal(err)
		}
		if _, err := json.Marshal(a); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(perCall/(float64(time.Since(start))/rounds), "x-plain-json")
}
