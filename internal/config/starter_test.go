package config_test

import (
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/config"
)

func TestTheStarterLoadsAsTheDefaults(t *testing.T) {
	c := mustLoad(t, config.Starter())
	c.Workspace = ""
	require.Equal(t, config.Default().String(), c.String())
	require.Empty(t, c.Warnings())
}

func TestTheStarterWorksWithAKeyInTheEnvironment(t *testing.T) {
	require.False(t, mustLoad(t, config.Starter(), "OPENAI_API_KEY=k").Offline())
}

func TestTheStarterLeavesTemporalsPortsFree(t *testing.T) {
	c := mustLoad(t, config.Starter())
	require.False(t, c.Named("temporal.address"))
	require.False(t, c.Named("temporal.ui_addr"))
}

func TestTheStarterMentionsEveryKey(t *testing.T) {
	for _, key := range keysOf(reflect.TypeFor[config.Config]()) {
		require.Contains(t, config.Starter(), `"`+key+`":`)
	}
}

func TestTheStartersCommentedExamplesAreValid(t *testing.T) {
	// Uncommenting every example must give a config that loads.
	text := regexp.MustCompile(`(?m)^(\s*)// ((?:"\w+":|\{ "id"|  +").*)$`).ReplaceAllString(config.Starter(), "$1$2")
	c, err := load(t, text, "OPENAI_API_KEY=k", "ANTHROPIC_API_KEY=k")
	require.NoError(t, err)
	require.Len(t, c.Providers, 3)
	require.Equal(t, "main", c.Agents["default"].Model)
	require.True(t, c.Named("temporal.address"))
	require.Len(t, c.Scheduler.Jobs, 1)
	jobs, wrong := c.Jobs(time.Now())
	require.Len(t, jobs, 1)
	require.Len(t, wrong, 1)
	require.Equal(t, "scheduler.jobs[0].target.channel", wrong[0].Path, "Feishu is off in it")
}

// keysOf lists the keys of a struct and of everything below it.
func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		f := t.Field(i)
		key := f.Tag.Get("json")
		if key == "" {
			continue
		}
		keys = append(keys, key)
		if f.Type.Kind() == reflect.Struct {
			keys = append(keys, keysOf(f.Type)...)
		}
		if f.Type.Kind() == reflect.Map && f.Type.Elem().Kind() == reflect.Struct {
			keys = append(keys, keysOf(f.Type.Elem())...)
		}
	}
	return keys
}

func TestDurationsHaveTheUnitsOfTheirKeys(t *testing.T) {
	c := config.Default()
	require.Equal(t, 24*time.Hour, c.Session.TTL())
	require.Equal(t, time.Duration(0), c.Session.Retention())
	require.Equal(t, time.Hour, c.Session.CleanupInterval())
	require.Equal(t, []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond}, c.Session.StorageRetryDelays())
	require.Equal(t, 7*24*time.Hour, c.Temporal.Retention())
	require.Equal(t, 300*time.Second, c.Providers["offline"].Timeout())
	require.Equal(t, 2*time.Minute, c.Tools.Bash.Timeout())
	require.Equal(t, time.Hour, c.Tools.Bash.MaxTimeout())
	require.Equal(t, 30*time.Second, c.Tools.HTTP.Timeout())
	require.Equal(t, time.Duration(0), c.Scheduler.MisfireGrace())
	require.Equal(t, time.Hour, c.Scheduler.RunTimeout())
}

func TestTheTimeZoneIsTheNamedOneOrThatOfTheMachine(t *testing.T) {
	loc, err := config.Default().Location()
	require.NoError(t, err)
	require.Equal(t, time.Local, loc)

	loc, err = mustLoad(t, `{"time_zone": "Asia/Shanghai"}`).Location()
	require.NoError(t, err)
	require.Equal(t, "Asia/Shanghai", loc.String())
}
