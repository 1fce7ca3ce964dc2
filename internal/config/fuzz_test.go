package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/config"
)

// FuzzLoad: whatever the file holds, Load returns a usable configuration or an *Error
// with at least one problem; and what it shows of a configuration hides its secrets.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[`, `{"a":{"a":{"a":[[[`, "{} //", `{"time_zone": "${A:-${B}}"}`, `{"workspace": "${A}$${B}"}`, config.Starter(), secretive,
		`{"providers": {"p": {"type": "anthropic", "headers": {"a": "b"}}}, "models": {"x.y": {"temperature": null}}, "agents": {"default": {"model": "x.y"}}}`,
		`{"gateway": {"addr": "[::1%eth0]:1"}, "temporal": {"mode": "external"}, "session": {"storage_retry_delays_ms": [1, 1e2, 1.5]}}`,
		`{"scheduler": {"jobs": [{"\ud800": 1e9999}]}}`, `{"locale": "en", "locale": 1}`,
	} {
		f.Add([]byte(seed))
	}
	file := filepath.Join(f.TempDir(), "config.json")
	f.Fuzz(func(t *testing.T, text []byte) {
		require.NoError(t, os.WriteFile(file, text, 0o600))
		c, err := config.Load(config.Source{Home: "/h", File: file, Env: env("A=${B}", "OPENAI_API_KEY=k")})
		var e *config.Error
		if err != nil {
			require.True(t, errors.As(err, &e), err)
			require.NotEmpty(t, e.Problems)
			require.NotEmpty(t, e.Error())
			return
		}
		c.Warnings()
		c.Secrets()
		_, err = c.Show()
		require.NoError(t, err)
		_, err = c.Location()
		require.NoError(t, err)
		require.Contains(t, c.Models, c.Agents[config.DefaultAgent].Model)
		for _, m := range c.Models {
			require.Contains(t, c.Providers, m.Provider)
		}
	})
}
