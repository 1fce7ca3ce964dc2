package catalog_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/llm/catalog"
	"picobot/internal/testkit/fakeanthropic"
	"picobot/internal/testkit/fakeopenai"
)

func TestAModelIsFoundWithItsProvider(t *testing.T) {
	server := fakeopenai.Start(t, fakeopenai.Config{})
	claude := fakeanthropic.Start(t, fakeanthropic.Config{})
	c, err := catalog.New(
		map[string]catalog.Provider{
			"claude": {Type: "anthropic", BaseURL: claude.URL(), APIKey: claude.Key()},
			"local":  {Type: "openai", BaseURL: server.URL(), APIKey: server.Key()},
			"off":    {Type: "offline"},
		},
		map[string]catalog.Model{
			"big":   {Model: llm.Model{ID: "vendor/big", Stream: true}, Provider: "local", ContextWindowTokens: 32_000},
			"deep":  {Model: llm.Model{ID: "claude-sonnet-5-5", Stream: true}, Provider: "claude"},
			"small": {Provider: "off"},
		})
	require.NoError(t, err)
	t.Cleanup(c.Close)

	p, m, window, err := c.Model("big")
	require.NoError(t, err)
	require.Equal(t, "big", m.Name)
	require.Equal(t, "vendor/big", m.ID)
	require.Equal(t, 32_000, window)
	require.False(t, c.IsOffline("big"))
	resp, err := p.Complete(t.Context(), llm.Request{Model: m, Messages: []llm.Message{{Message: chat.Message{Role: chat.RoleUser, Content: "hi"}}}}, nil)
	require.NoError(t, err)
	require.Equal(t, "echo: hi", resp.Content)
	require.Equal(t, "vendor/big", server.Requests()[0].Model)

	p, m, _, err = c.Model("deep")
	require.NoError(t, err)
	resp, err = p.Complete(t.Context(), llm.Request{Model: m, Messages: []llm.Message{{Message: chat.Message{Role: chat.RoleUser, Content: "hi"}}}}, nil)
	require.NoError(t, err)
	require.Equal(t, "echo: hi", resp.Content)
	require.Equal(t, "claude-sonnet-5-5", claude.Requests()[0].Model)

	_, m, window, err = c.Model("small")
	require.NoError(t, err)
	require.Equal(t, "offline", m.ID)
	require.Equal(t, catalog.DefaultContextWindow, window)
	require.True(t, c.IsOffline("small"))

	var names []string
	for _, p := range c.Providers() {
		names = append(names, p.Name+"/"+p.Type)
		require.NoError(t, p.Ping(t.Context()))
	}
	require.Equal(t, []string{"claude/anthropic", "local/openai", "off/offline"}, names)
}

func TestAnUnknownModelNamesTheKnownOnes(t *testing.T) {
	c, err := catalog.New(map[string]catalog.Provider{"off": {Type: "offline"}}, map[string]catalog.Model{"b": {Provider: "off"}, "a": {Provider: "off"}})
	require.NoError(t, err)
	_, _, _, err = c.Model("x")
	require.EqualError(t, err, `there is no model "x" (known: a, b)`)
	require.False(t, c.IsOffline("x"))
}

func TestEveryProblemIsNamed(t *testing.T) {
	_, err := catalog.New(
		map[string]catalog.Provider{"claude": {Type: "anthropic"}, "odd": {Type: "telepathy"}, "none": {}, "ok": {Type: "openai"}},
		map[string]catalog.Model{
			"a": {Provider: "nowhere"},
			"b": {Provider: "ok"},
			"c": {Provider: "ok", Model: llm.Model{ID: "x", Extra: map[string]json.RawMessage{"messages": nil, "system": nil}}},
			"d": {Provider: "claude", Model: llm.Model{ID: "x", Extra: map[string]json.RawMessage{"system": nil}}},
		})
	require.EqualError(t, err, `providers.none: unknown type "" (known: openai, anthropic, offline)
providers.odd: unknown type "telepathy" (known: openai, anthropic, offline)
models.a.provider: there is no provider "nowhere" (known: claude, none, odd, ok)
models.b.model: the name of the model at the provider is missing
models.c.extra.messages: cannot be set here
models.d.extra.system: cannot be set here`)
}

func TestAnEmptyCatalogIsEmpty(t *testing.T) {
	c, err := catalog.New(nil, nil)
	require.NoError(t, err)
	require.Empty(t, c.Providers())
	_, _, _, err = c.Model("x")
	require.EqualError(t, err, `there is no model "x"`)
}
