package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/config"
)

func TestVariablesAreReplacedInsideAnyString(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"alone", "${A}", "alpha"},
		{"inside", "x${A}y${B}z", "xalphaybetaz"},
		{"default unused", "${A:-other}", "alpha"},
		{"default used", "${MISSING:-other}", "other"},
		{"default for an empty one", "${EMPTY:-other}", "other"},
		{"empty default", "a${MISSING:-}b", "ab"},
		{"default with spaces and colons", "${MISSING:-a b:-c}", "a b:-c"},
		{"empty but set", "a${EMPTY}b", "ab"},
		{"escaped", "$${A}", "${A}"},
		{"dollars elsewhere", "$5 $A $$", "$5 $A $$"},
		{"not replaced again", "${NESTED}", "${A}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := mustLoad(t, `{"channels": {"feishu": {"app_id": "`+tt.text+`"}}}`, "A=alpha", "B=beta", "EMPTY=", "NESTED=${A}")
			require.Equal(t, tt.want, c.Channels.Feishu.AppID)
		})
	}
}

func TestAVariableCannotAddKeys(t *testing.T) {
	c := mustLoad(t, `{"channels": {"feishu": {"app_id": "${A}"}}}`, `A=x", "enabled": true, "y": "`)
	require.Equal(t, `x", "enabled": true, "y": "`, c.Channels.Feishu.AppID)
	require.False(t, c.Channels.Feishu.Enabled)
}

func TestVariablesReachHeadersAndExtra(t *testing.T) {
	c := mustLoad(t, `{
		"providers": {"p": {"api_key": "${K}", "headers": {"X-Org": "${K}"}}},
		"models": {"m": {"provider": "p", "extra": {"user": "${K}", "list": ["${K}"]}}}}`, "K=v")
	require.Equal(t, "v", c.Providers["p"].APIKey.Reveal())
	require.Equal(t, "v", c.Providers["p"].Headers["X-Org"])
	require.JSONEq(t, `"v"`, string(c.Models["m"].Extra["user"]))
	require.JSONEq(t, `["v"]`, string(c.Models["m"].Extra["list"]))
}

func TestWithoutProviderAndKeyTheOfflineModelAnswers(t *testing.T) {
	for name, vars := range map[string][]string{"no key": nil, "empty key": {"OPENAI_API_KEY=", "ANTHROPIC_API_KEY= "}} {
		t.Run(name, func(t *testing.T) {
			c := mustLoad(t, `{}`, vars...)
			require.True(t, c.Offline())
			require.Equal(t, "offline", c.Agents["default"].Model)
			require.Equal(t, "offline", c.Models["offline"].Provider)
			require.Equal(t, config.ProviderOffline, c.Providers["offline"].Type)
			require.Empty(t, c.Providers["offline"].BaseURL)
		})
	}
}

func TestAKeyInTheEnvironmentMakesAProvider(t *testing.T) {
	for _, tt := range []struct {
		name               string
		vars               []string
		kind, url, modelID string
	}{
		{"openai", []string{"OPENAI_API_KEY=k"}, "openai", "https://api.openai.com/v1", "gpt-5-mini"},
		{"openai elsewhere", []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=http://127.0.0.1:1/v1/", "OPENAI_MODEL=org/m:1"}, "openai", "http://127.0.0.1:1/v1", "org/m:1"},
		{"anthropic", []string{"ANTHROPIC_API_KEY=k"}, "anthropic", "https://api.anthropic.com", "claude-sonnet-5-5"},
		{"anthropic elsewhere", []string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=http://127.0.0.1:1", "ANTHROPIC_MODEL=m"}, "anthropic", "http://127.0.0.1:1", "m"},
		{"both", []string{"ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=k"}, "openai", "https://api.openai.com/v1", "gpt-5-mini"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := config.Load(config.Source{Env: env(tt.vars...), WorkDir: t.TempDir()})
			require.NoError(t, err)
			require.Len(t, c.Providers, 1)
			require.Equal(t, config.Provider{Type: tt.kind, BaseURL: tt.url, APIKey: "k", Headers: map[string]string{}, TimeoutSeconds: 300}, c.Providers[tt.kind])
			require.Len(t, c.Models, 1)
			require.Equal(t, tt.modelID, c.Models[c.Agents["default"].Model].Model)
			require.Equal(t, 128000, c.Models[tt.modelID].ContextWindowTokens)
			require.False(t, c.Offline())
			require.Empty(t, c.Warnings())
		})
	}
}

func TestABadAddressInTheEnvironmentIsAProblemOfTheVariable(t *testing.T) {
	require.Equal(t, []config.Problem{{
		Path: "OPENAI_BASE_URL", Message: "the environment variable must hold an http or https address such as https://api.openai.com/v1",
	}}, problemsOf(t, `{}`, "OPENAI_API_KEY=k", "OPENAI_BASE_URL=localhost"))
}

func TestConfiguredProvidersKeepTheEnvironmentOut(t *testing.T) {
	c := mustLoad(t, `{`+models+`}`, "OPENAI_API_KEY=k2")
	require.Len(t, c.Providers, 1)
	require.Equal(t, "k", c.Providers["p"].APIKey.Reveal())
}

func TestConfiguredModelsMayUseTheProviderOfTheEnvironment(t *testing.T) {
	c := mustLoad(t, `{"models": {"big": {"provider": "openai", "model": "gpt-x"}}}`, "OPENAI_API_KEY=k")
	require.Len(t, c.Models, 1)
	require.Equal(t, "big", c.Agents["default"].Model)
	require.Equal(t, "k", c.Providers["openai"].APIKey.Reveal())
}

func TestSimpleConfigsNeedNotRepeatThemselves(t *testing.T) {
	c := mustLoad(t, `{"providers": {"p": {"api_key": "k"}}, "models": {"gpt-x": {}}, "agents": {"other": {}}}`)
	require.Equal(t, "p", c.Models["gpt-x"].Provider, "the only provider")
	require.Equal(t, "gpt-x", c.Models["gpt-x"].Model)
	require.Equal(t, "gpt-x", c.Agents["default"].Model, "the only model")
	require.Equal(t, "gpt-x", c.Agents["other"].Model, "what the default agent has")
}

func TestTheOfflineModelNeedNotBeConfigured(t *testing.T) {
	for name, text := range map[string]string{
		"named by the agent":   `{"agents": {"default": {"model": "offline"}}}`,
		"beside others":        `{` + models + `, "agents": {"default": {"model": "offline"}}}`,
		"provider alone":       `{"providers": {"mine": {"type": "offline"}}}`,
		"provider of a model":  `{"models": {"fake": {"provider": "offline"}}}`,
		"everything spelt out": `{"providers": {"offline": {"type": "offline"}}, "models": {"offline": {"provider": "offline", "model": "offline"}}, "agents": {"default": {"model": "offline"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			require.True(t, mustLoad(t, text, "OPENAI_API_KEY=k").Offline(), "also with a key in the environment")
		})
	}
	c := mustLoad(t, `{`+models+`, "agents": {"default": {"fallback_models": ["offline"]}}}`)
	require.Equal(t, "m", c.Agents["default"].Model)
	require.False(t, c.Offline())
	require.Contains(t, c.Models, "offline")
}
