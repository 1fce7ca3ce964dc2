package config_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/config"
)

// loadClient is load for whoever only looks at a home.
func loadClient(t *testing.T, text string, vars ...string) (config.Config, error) {
	t.Helper()
	home := t.TempDir()
	write(t, filepath.Join(home, "config.json"), text)
	return config.Load(config.Source{Home: home, WorkDir: t.TempDir(), Env: env(vars...), Client: true})
}

func TestAClientDoesWithoutVariablesThatAreNothingToIt(t *testing.T) {
	const text = `{
		"gateway": {"addr": "${ADDR}", "token": "${TOKEN}"},
		"providers": {"p": {"type": "${KIND}", "base_url": "${URL}", "api_key": "${KEY}", "headers": {"X-Org": "${ORG}"}}},
		"models": {"m": {"provider": "${P}"}, "n": {"provider": "p", "extra": {"user": "${U}"}}},
		"agents": {"default": {"model": "${M}"}},
		"temporal": {"mode": "external", "address": "${T}", "api_key": "${K}", "tls": {"enabled": true, "ca_file": "${CA}"}},
		"channels": {"feishu": {"enabled": true, "app_id": "${ID}", "app_secret": "${S}"}},
		"scheduler": {"jobs": [{"id": "a", "kind": "outbound_message", "payload": {"content": "${C}"}}]}}`
	c, err := loadClient(t, text, "ADDR=127.0.0.1:1", "TOKEN=long-enough-to-be-a-token")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:1", c.Gateway.Addr)
	require.Equal(t, "long-enough-to-be-a-token", c.Gateway.Token.Reveal())

	// What was done without is told as it is to everybody else.
	_, err = load(t, text, "ADDR=127.0.0.1:1", "TOKEN=long-enough-to-be-a-token")
	var strict, absent *config.Error
	require.ErrorAs(t, err, &strict)
	require.ErrorAs(t, c.Absent(), &absent)
	require.Equal(t, strict.Problems, absent.Problems)
	require.Len(t, absent.Problems, 13)
	require.ErrorContains(t, c.Absent(), "providers.p.api_key: environment variable KEY is not set")
}

func TestAClientNeedsTheVariablesOfItsOwnPart(t *testing.T) {
	for path, text := range map[string]string{
		"gateway.token":      `{"gateway": {"token": "${X}"}}`,
		"gateway.addr":       `{"gateway": {"addr": "127.0.0.1:${X}"}}`,
		"locale":             `{"locale": "${X}"}`,
		"workspace":          `{"workspace": "${X}"}`,
		"skills.sources[0]":  `{"skills": {"sources": ["${X}"]}}`,
		"temporal.mode":      `{"temporal": {"mode": "${X}"}}`,
		"temporal.namespace": `{"temporal": {"namespace": "${X}"}}`,
		"temporal.ui_addr":   `{"temporal": {"ui_addr": "${X}"}}`,
	} {
		_, err := loadClient(t, text)
		require.ErrorContains(t, err, path+": environment variable X is not set")
	}
}

// Anything else that is wrong is wrong for a client, too.
func TestAClientRefusesWhatIsWrongOtherwise(t *testing.T) {
	for _, text := range []string{`{"providers": {"p": {"type": "opnai"}}}`, `{"nosuch": 1}`, `{"providers": {"p": {"api_key": "${1}"}}}`, `{`} {
		_, err := loadClient(t, text)
		require.Error(t, err)
	}
	c, err := loadClient(t, `{"providers": {"p": {"api_key": "${X}"}}, "models": {"m": {}}}`, "X=key")
	require.NoError(t, err)
	require.NoError(t, c.Absent())
	require.Equal(t, "key", c.Providers["p"].APIKey.Reveal())
}
