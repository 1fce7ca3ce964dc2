package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/config"
)

const secretive = `{
	"providers": {
		"p": {"api_key": "PROVIDER-KEY", "base_url": "https://ann:URL%20PASSWORD@api.example.com/v1",
			"headers": {"Authorization": "Bearer HEADER-TOKEN", "X-Api-Key": "HEADER-KEY", "X-Title": "PicoBot", "X-Odd": "sk-ODD-VALUE"}},
		"q": {"base_url": "https://URL-TOKEN@api.example.com/v1"},
	},
	"models": {"m": {"provider": "p", "extra": {"safety": {"auth_token": "EXTRA-TOKEN"}, "n": 1e2}}},
	"gateway": {"token": "GATEWAY-TOKEN"},
	"temporal": {"api_key": "TEMPORAL-KEY"},
	"channels": {"feishu": {"app_id": "cli_1", "app_secret": "FEISHU-SECRET", "domain": "https://u:DOMAIN-PASSWORD@lark.example"}},
	"scheduler": {"jobs": [{"id": "j", "payload": {"prompt": "Basic summary of the day", "metadata": {"webhook_secret": "JOB-SECRET"}}}]},
}`

var secrets = []string{
	"Bearer HEADER-TOKEN", "DOMAIN-PASSWORD", "FEISHU-SECRET", "GATEWAY-TOKEN", "HEADER-TOKEN", "PROVIDER-KEY",
	"TEMPORAL-KEY", "sk-ODD-VALUE", "EXTRA-TOKEN", "HEADER-KEY", "JOB-SECRET", "URL-TOKEN", "URL%20PASSWORD", "URL PASSWORD",
}

func TestNoSecretIsShownPrintedOrLogged(t *testing.T) {
	c := mustLoad(t, secretive)
	shown, err := c.Show()
	require.NoError(t, err)
	plain, err := json.Marshal(c.Masked())
	require.NoError(t, err)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "config", c, "provider", c.Providers["p"], "token", c.Gateway.Token)

	for what, text := range map[string]string{
		"Show": string(shown), "Masked": string(plain), "log": log.String(),
		"printed": fmt.Sprintf("%v %+v %s", c, c, c.Providers["p"]), "printed secrets": fmt.Sprintf("%v %#v %+v", c.Gateway.Token, c.Gateway, c.Temporal),
		"printed parts": fmt.Sprintf("%v %+v", c.Providers, c.Channels.Feishu.AppSecret),
	} {
		for _, s := range secrets {
			require.NotContains(t, text, s, what)
		}
	}
	for _, kept := range []string{"PicoBot", "api.example.com", "ann:****@", `"app_id": "cli_1"`, "Basic summary of the day", `"n": 1e2`, `"app_secret": "****"`} {
		require.Contains(t, string(shown), kept)
	}
}

func TestMaskingLeavesTheConfigurationItselfAlone(t *testing.T) {
	c := mustLoad(t, secretive)
	_ = c.Masked()
	require.Equal(t, "PROVIDER-KEY", c.Providers["p"].APIKey.Reveal())
	require.Equal(t, "Bearer HEADER-TOKEN", c.Providers["p"].Headers["Authorization"])
	require.Contains(t, string(c.Scheduler.Jobs[0]), "JOB-SECRET")
	require.Contains(t, string(c.Models["m"].Extra["safety"]), "EXTRA-TOKEN")
}

func TestWhatIsEmptyIsShownEmpty(t *testing.T) {
	require.NotContains(t, config.Default().String(), "****")
}

func TestSecretsListsEachSecretOnceTheLongerFirst(t *testing.T) {
	c := mustLoad(t, secretive)
	require.ElementsMatch(t, secrets, c.Secrets())
	for i, s := range c.Secrets()[1:] {
		require.LessOrEqual(t, len(s), len(c.Secrets()[i]))
	}
	require.Empty(t, config.Default().Secrets())
	require.Empty(t, mustLoad(t, `{"gateway": {"token": "abc"}}`).Secrets(), "too short to scrub from a log")
}

func TestWarningsNameWhatIsValidButHardlyMeant(t *testing.T) {
	for _, tt := range []struct{ name, text, path, message string }{
		{"no version", `{"providers": {"p": {"api_key": "k", "base_url": "https://h.example"}}, "models": {"m": {}}}`, "providers.p.base_url", "has no version in its path; OpenAI-style addresses usually end in /v1"},
		{"version too many", `{"providers": {"p": {"type": "anthropic", "api_key": "k", "base_url": "https://h.example/v1/"}}, "models": {"m": {}}}`, "providers.p.base_url", "ends in /v1; Anthropic-style addresses do not, the version is added by PicoBot"},
		{"no key", `{"providers": {"p": {}}, "models": {"m": {}}}`, "providers.p.api_key", "is empty; this provider will refuse every request"},
		{"no key on the internet", `{"providers": {"p": {"base_url": "https://h.example/v1"}}, "models": {"m": {}}}`, "providers.p.api_key", "is empty; hardly any endpoint on the internet answers without a key"},
		{"no key on a public address", `{"providers": {"p": {"base_url": "http://203.0.113.7/v1"}}, "models": {"m": {}}}`, "providers.p.api_key", "is empty; hardly any endpoint on the internet answers without a key"},
		{"fallback to itself", `{"providers": {"p": {"api_key": "k"}}, "models": {"m": {}}, "agents": {"default": {"fallback_models": ["m"]}}}`, "agents.default.fallback_models[0]", `model "m" is asked before already; name another one`},
		{"fallback twice", `{"providers": {"p": {"api_key": "k"}}, "models": {"m": {}, "n": {}}, "agents": {"default": {"model": "m", "fallback_models": ["n", "n"]}}}`, "agents.default.fallback_models[1]", `model "n" is asked before already; name another one`},
		{"key in the clear", `{"providers": {"p": {"api_key": "k", "base_url": "http://h.example/v1"}}, "models": {"m": {}}}`, "providers.p.base_url", "sends api_key unencrypted; use https"},
		{"no room", `{` + `"providers": {"p": {"api_key": "k"}}, "models": {"m": {"context_window_tokens": 10, "max_output_tokens": 10}}}`, "models.m.max_output_tokens", "leaves no room for a prompt: context_window_tokens is 10"},
		{"short token", `{"gateway": {"addr": "0.0.0.0:1", "token": "short"}}`, "gateway.token", "is easily guessed; use at least 16 random characters"},
		{"Temporal in the clear", `{"temporal": {"mode": "external", "address": "t.example:1", "api_key": "k"}}`, "temporal.tls.enabled", "temporal.api_key is sent unencrypted; set this to true"},
		{"nobody", `{"channels": {"feishu": {"enabled": true, "app_id": "a", "app_secret": "s"}}}`, "channels.feishu.allow_from", `nobody may talk to the bot; list the ids of people, or "*" for everyone`},
		{"sleeping jobs", `{"scheduler": {"enabled": false, "jobs": [{}]}}`, "scheduler.enabled", "is false, so the 1 jobs of the file never run"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, []config.Problem{{Path: tt.path, Message: tt.message}}, mustLoad(t, tt.text).Warnings())
		})
	}
}

func TestUsualProvidersGiveNoWarning(t *testing.T) {
	for _, url := range []string{
		"https://open.bigmodel.cn/api/paas/v4", "https://generativelanguage.googleapis.com/v1beta/openai",
		"http://127.0.0.1:11434/v1", "http://[::1]:11434/v1", "http://localhost:1/v1",
	} {
		require.Empty(t, mustLoad(t, `{"providers": {"p": {"api_key": "k", "base_url": "`+url+`"}}, "models": {"m": {}}}`).Warnings(), url)
	}
	for _, url := range []string{"http://127.0.0.1:11434/v1", "http://192.168.1.5/v1", "http://gpu:8000/v1", "http://gpu.lan/v1"} {
		require.Empty(t, mustLoad(t, `{"providers": {"p": {"base_url": "`+url+`"}}, "models": {"m": {}}}`).Warnings(), "%s needs no key", url)
	}
	require.Empty(t, config.Default().Warnings())
}

func TestAReadableFileWithASecretInItGivesAWarning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	warnings := func(text string, mode os.FileMode) []config.Problem {
		write(t, file, text)
		require.NoError(t, os.Chmod(file, mode))
		c, err := config.Load(config.Source{File: file, Env: env("TOKEN=from-the-environment")})
		require.NoError(t, err)
		return c.Warnings()
	}
	require.Equal(t, []config.Problem{{Message: file + " holds a secret and other users may read it; run chmod 600 on it"}},
		warnings(`{"gateway": {"token": "in-the-file"}}`, 0o644))
	require.Empty(t, warnings(`{"gateway": {"token": "in-the-file"}}`, 0o600))
	require.Empty(t, warnings(`{"gateway": {"token": "${TOKEN}"}}`, 0o644))
}
