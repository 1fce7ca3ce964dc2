package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/config"
	"picobot/internal/llm"
	"picobot/internal/testkit/fakeanthropic"
	"picobot/internal/testkit/fakeopenai"
)

// A key in the environment is all that a first real conversation needs.
func TestNewCatalog_AKeyInTheEnvironment_MakesAProviderThatAnswers(t *testing.T) {
	claude := fakeanthropic.Start(t, fakeanthropic.Config{})
	gpt := fakeopenai.Start(t, fakeopenai.Config{})
	for provider, env := range map[string]map[string]string{
		"anthropic": {"ANTHROPIC_API_KEY": claude.Key(), "ANTHROPIC_BASE_URL": claude.URL()},
		"openai":    {"OPENAI_API_KEY": gpt.Key(), "OPENAI_BASE_URL": gpt.URL()},
	} {
		t.Run(provider, func(t *testing.T) {
			cfg, err := config.Load(config.Source{Home: t.TempDir(), WorkDir: t.TempDir(), Env: func(name string) (string, bool) {
				value, ok := env[name]
				return value, ok
			}})
			require.NoError(t, err)
			c, err := NewCatalog(cfg)
			require.NoError(t, err)
			t.Cleanup(c.Close)
			p, m, _, err := c.Model(cfg.Agents[config.DefaultAgent].Model)
			require.NoError(t, err)
			require.False(t, c.IsOffline(m.Name))
			require.NoError(t, p.Ping(t.Context()))
			got, err := p.Complete(t.Context(), llm.Request{Model: m, Messages: []llm.Message{{Message: chat.Message{Role: chat.RoleUser, Content: "hi"}}}}, nil)
			require.NoError(t, err)
			require.Equal(t, "echo: hi", got.Content)
		})
	}
}
