package config_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/config"
)

// env makes a look-up of NAME=value pairs.
func env(pairs ...string) func(string) (string, bool) {
	vars := map[string]string{}
	for _, p := range pairs {
		name, value, _ := strings.Cut(p, "=")
		vars[name] = value
	}
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

// load writes text as HOME/config.json and loads it.
func load(t *testing.T, text string, vars ...string) (config.Config, error) {
	t.Helper()
	home := t.TempDir()
	write(t, filepath.Join(home, "config.json"), text)
	return config.Load(config.Source{Home: home, WorkDir: t.TempDir(), Env: env(vars...)})
}

func mustLoad(t *testing.T, text string, vars ...string) config.Config {
	t.Helper()
	c, err := load(t, text, vars...)
	require.NoError(t, err)
	return c
}

// problemsOf returns the problems of a config that must not load.
func problemsOf(t *testing.T, text string, vars ...string) []config.Problem {
	t.Helper()
	_, err := load(t, text, vars...)
	var e *config.Error
	require.ErrorAs(t, err, &e)
	return e.Problems
}

func write(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

func TestTheFileIsTheNamedOneElseTheHomesElseTheWorkingDirectorysElseNone(t *testing.T) {
	home, work, named := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "mine.json")
	from := func(src config.Source) (zone, file string) {
		c, err := config.Load(src)
		require.NoError(t, err)
		return c.TimeZone, c.File()
	}
	src := config.Source{Home: home, WorkDir: work}

	zone, file := from(src)
	require.Equal(t, "Local", zone)
	require.Empty(t, file)

	write(t, filepath.Join(work, "config.json"), `{"time_zone": "Asia/Tokyo"}`)
	zone, file = from(src)
	require.Equal(t, "Asia/Tokyo", zone)
	require.Equal(t, filepath.Join(work, "config.json"), file)

	write(t, filepath.Join(home, "config.json"), `{"time_zone": "Asia/Shanghai"}`)
	zone, file = from(src)
	require.Equal(t, "Asia/Shanghai", zone)
	require.Equal(t, filepath.Join(home, "config.json"), file)

	write(t, named, `{"time_zone": "Europe/Paris"}`)
	src.File = named
	zone, file = from(src)
	require.Equal(t, "Europe/Paris", zone)
	require.Equal(t, named, file)
}

func TestANamedFileThatDoesNotExistIsAnErrorThatSaysSo(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.json")
	_, err := config.Load(config.Source{Home: t.TempDir(), File: missing})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, missing+" does not exist")
}

func TestAFileThatCannotBeReadIsAnErrorNotAnotherFile(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, "config.json"), 0o700))
	work := t.TempDir()
	write(t, filepath.Join(work, "config.json"), `{}`)
	_, err := config.Load(config.Source{Home: home, WorkDir: work})
	require.ErrorContains(t, err, filepath.Join(home, "config.json"))
}

func TestEveryDocumentedKeyExistsWithItsDocumentedDefault(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "defaults.json"))
	require.NoError(t, err)
	shown, err := config.Default().Show()
	require.NoError(t, err)
	require.Equal(t, string(want), string(shown))
}

func TestAnEmptyObjectIsTheSameAsNoFile(t *testing.T) {
	none, err := config.Load(config.Source{})
	require.NoError(t, err)
	require.Equal(t, config.Default().String(), none.String())

	empty := mustLoad(t, `{}`)
	empty.Workspace = ""
	require.Equal(t, config.Default().String(), empty.String())
}

func TestCommentsTrailingCommasAndAByteOrderMarkAreAllowed(t *testing.T) {
	for name, text := range map[string]string{
		"line comments":           "// one\n{ // two\n\"locale\": \"zh-CN\" // three\n}\n// last line without newline",
		"block comments":          `/* a { [ " */ {"locale": /* b */ "zh-CN"}`,
		"trailing commas":         `{"locale": "zh-CN", "gateway": {"allowed_origins": ["https://a.example",],},}`,
		"byte order mark":         "\uFEFF{\"locale\": \"zh-CN\"}",
		"comment signs in string": `{"locale": "zh-CN", "workspace": "/tmp/a//b/*c"}`,
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, config.LocaleChinese, mustLoad(t, text).Locale)
		})
	}
}

func TestObjectsMergeOverDefaultsAndListsReplaceThem(t *testing.T) {
	c := mustLoad(t, `{
		"session": {"ttl_hours": 1, "storage_retry_delays_ms": [5]},
		"skills": {"sources": []},
		"agents": {"default": {"max_parallel_tools": 2}, "quick": {"max_tool_iterations": 3}},
	}`)
	require.Equal(t, 1, c.Session.TTLHours)
	require.Equal(t, []int{5}, c.Session.StorageRetryDelaysMS)
	require.Equal(t, 60, c.Session.CleanupIntervalMinutes)
	require.Empty(t, c.Skills.Sources)
	require.Equal(t, 50, c.Agents["default"].MaxToolIterations)
	require.Equal(t, 2, c.Agents["default"].MaxParallelTools)
	require.Equal(t, 3, c.Agents["quick"].MaxToolIterations)
	require.Equal(t, 4, c.Agents["quick"].MaxParallelTools)
}

func TestEntriesOfProvidersAndModelsGetTheirDefaults(t *testing.T) {
	c := mustLoad(t, `{
		"providers": {"main": {"api_key": "k"}, "claude": {"type": "anthropic", "api_key": "k"}},
		"models": {"gpt": {"provider": "main", "model": "gpt-x", "temperature": 0, "extra": {"a": {"b": 1.50}}}, "other": {"provider": "claude", "stream": false}},
		"agents": {"default": {"model": "gpt", "fallback_models": ["other"]}},
	}`)
	require.Equal(t, config.Provider{Type: "openai", BaseURL: "https://api.openai.com/v1", APIKey: "k", Headers: map[string]string{}, TimeoutSeconds: 300}, c.Providers["main"])
	require.Equal(t, "https://api.anthropic.com", c.Providers["claude"].BaseURL)
	zero := 0.0
	require.Equal(t, config.Model{
		Provider: "main", Model: "gpt-x", ContextWindowTokens: 128000, Temperature: &zero, Reasoning: "auto",
		Vision: true, Stream: true, Extra: map[string]json.RawMessage{"a": json.RawMessage(`{"b":1.50}`)},
	}, c.Models["gpt"])
	require.False(t, c.Models["other"].Stream)
	require.Equal(t, "other", c.Models["other"].Model, "a model without an id is called what the entry is called")
	require.Nil(t, c.Models["other"].Temperature)
}

func TestNamedTellsWhichKeysTheFileNames(t *testing.T) {
	c := mustLoad(t, `{"temporal": {"address": "127.0.0.1:7233"}, "gateway": {}}`)
	require.True(t, c.Named("temporal.address"), "also when it names the default")
	require.True(t, c.Named("gateway"))
	require.False(t, c.Named("temporal.ui_addr"))
	require.False(t, c.Named("gateway.addr"))
	require.False(t, config.Default().Named("temporal.address"))
}

func TestAnAddressFromTheCommandLineIsCheckedAndCountsAsNamed(t *testing.T) {
	c := mustLoad(t, `{}`)
	changed, err := c.WithGatewayAddr("127.0.0.1:0")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:0", changed.Gateway.Addr)
	require.True(t, changed.Named("gateway.addr"))
	require.False(t, c.Named("gateway.addr"), "the configuration itself does not change")

	_, err = c.WithGatewayAddr("0.0.0.0:80")
	require.ErrorContains(t, err, "gateway.token")
	_, err = c.WithGatewayAddr("80")
	require.ErrorContains(t, err, "gateway.addr")
	_, err = config.Default().WithGatewayAddr("127.0.0.1:1")
	require.NoError(t, err)
}

func TestPathsAreMadeAbsolute(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(t.TempDir(), "c.json")
	at := func(workspace string) string {
		write(t, file, `{"workspace": "`+workspace+`"}`)
		c, err := config.Load(config.Source{Home: home, File: file, Env: env("HOME=/people/ann")})
		require.NoError(t, err)
		return c.Workspace
	}
	require.Equal(t, filepath.Join(home, "workspace"), at(""))
	require.Equal(t, "/srv/w", at("/srv/w"))
	require.Equal(t, filepath.Join(filepath.Dir(file), "w"), at("w"), "relative to the file")
	require.Equal(t, "/people/ann/w", at("~/w"))
	require.Equal(t, "/people/ann", at("~"))

	require.Equal(t, []config.Problem{{Path: "workspace", Message: "~ needs the environment variable HOME; set it or write the whole path"}},
		problemsOf(t, `{"workspace": "~/w"}`))
}

func TestJobsAreKeptRawForTheSchedulerToJudge(t *testing.T) {
	c := mustLoad(t, `{"scheduler": {"jobs": [ {"id": "a", "n": 1e2, "who": "${WHO}", /* c */ "x": [true, null,],}, {"nonsense": {}} ]}}`, `WHO=<"x">`)
	require.Equal(t, `{"id":"a","n":1e2,"who":"<\"x\">","x":[true,null]}`, string(c.Scheduler.Jobs[0]))
	require.Equal(t, `{"nonsense":{}}`, string(c.Scheduler.Jobs[1]))
}

func TestAllProblemsComeAtOnceAsOneError(t *testing.T) {
	_, err := load(t, `{"locale": "fr", "gatway": {}, "worker": {"max_tool_calls": 0}, "time_zone": 7}`)
	var e *config.Error
	require.True(t, errors.As(err, &e))
	require.Len(t, e.Problems, 4)
	require.Contains(t, err.Error(), "has 4 problems:\n  gatway: unknown key; did you mean \"gateway\"?\n")

	_, err = load(t, `{"locale": "fr"}`)
	require.Regexp(t, `^config .*config\.json: locale: must be one of "en", "zh-CN", not "fr"$`, err.Error())
}

func TestAFloodOfProblemsIsCounted(t *testing.T) {
	_, err := load(t, `{"skills": {"sources": [`+strings.Repeat(`1,`, 250)+`]}}`)
	var e *config.Error
	require.ErrorAs(t, err, &e)
	require.Len(t, e.Problems, 100)
	require.Equal(t, 150, e.More)
	require.Contains(t, err.Error(), "has 250 problems:")
	require.Contains(t, err.Error(), "\n  and 150 more")
}
