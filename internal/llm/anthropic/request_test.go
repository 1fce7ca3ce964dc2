package anthropic_test

import (
	"bytes"
	"encoding/json"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/llm/anthropic"
	"picobot/internal/testkit/fakeanthropic"
)

// The SDK looks for keys, addresses, profiles and headers in the environment by
// itself; what is not in the configuration must not reach a request.
func TestTheEnvironment_HasNoInfluence(t *testing.T) {
	elsewhere := fakeanthropic.Start(t, fakeanthropic.Config{})
	profiles := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(profiles, "default.json"), []byte(`{"base_url":"`+elsewhere.URL()+`"}`), 0o600))
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "env-key", "ANTHROPIC_AUTH_TOKEN": "env-token", "ANTHROPIC_BASE_URL": elsewhere.URL(),
		"ANTHROPIC_PROFILE": "default", "ANTHROPIC_CONFIG_DIR": profiles, "ANTHROPIC_CUSTOM_HEADERS": "X-Env: yes",
		"ANTHROPIC_FEDERATION_RULE_ID": "fdrl_1", "ANTHROPIC_ORGANIZATION_ID": "org", "ANTHROPIC_IDENTITY_TOKEN": "env-identity",
		"ANTHROPIC_WORKSPACE_ID": "wrkspc_env", "ANTHROPIC_OPEN_TELEMETRY": "true", "ANTHROPIC_LOG": "debug",
	} {
		t.Setenv(name, value)
	}
	server := fakeanthropic.Start(t, fakeanthropic.Config{})
	for _, key := range []string{server.Key(), ""} {
		p := anthropic.New(anthropic.Config{Name: "p", BaseURL: server.URL(), APIKey: key})
		t.Cleanup(p.Close)
		_, err := p.Complete(t.Context(), ask("hi"), nil)
		if key == "" {
			require.Equal(t, llm.KindAuth, llm.KindOf(err), "without a key in the configuration there is none")
		} else {
			require.NoError(t, err)
			require.NoError(t, p.Ping(t.Context()))
		}
	}
	require.Zero(t, elsewhere.Count()+elsewhere.Pings())
	for _, r := range server.Requests() {
		for header, values := range r.Header {
			require.NotContains(t, strings.Join(values, ","), "env", header)
		}
		require.Empty(t, r.Header.Get("X-Env"))
		require.Empty(t, r.Header.Get("Traceparent"))
	}
}

func TestHeadersOfTheConfiguration_AreSentAndWin(t *testing.T) {
	server := fakeanthropic.Start(t, fakeanthropic.Config{Key: "from-header"})
	p := anthropic.New(anthropic.Config{Name: "p", BaseURL: server.URL() + "/", APIKey: "ignored", Headers: map[string]string{
		"X-Api-Key": "from-header", "anthropic-beta": "something-2026-01-01"}})
	t.Cleanup(p.Close)
	_, err := p.Complete(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	require.NoError(t, p.Ping(t.Context()))
	header := server.Requests()[0].Header
	require.Equal(t, "something-2026-01-01", header.Get("Anthropic-Beta"))
	require.Equal(t, "picobot", header.Get("User-Agent"))
	require.NotEmpty(t, header.Get("Anthropic-Version"))
}

func TestLimitsAndSampling_FitTheModel(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	zero, warm, hot := 0.0, 0.7, 1.5
	for name, row := range map[string]struct {
		model   llm.Model
		want    map[string]string
		without []string
	}{
		"nothing set":             {model: llm.Model{ID: "claude-sonnet-5-5"}, want: map[string]string{"max_tokens": "32000", "stream": "true"}, without: []string{"temperature", "system", "tools", "thinking"}},
		"an old model":            {model: llm.Model{ID: "claude-3-haiku-20240307"}, want: map[string]string{"max_tokens": "4096"}},
		"a newer one":             {model: llm.Model{ID: "anthropic/claude-3-5-sonnet"}, want: map[string]string{"max_tokens": "8192"}},
		"another vendor's":        {model: llm.Model{ID: "kimi-k2-thinking"}, want: map[string]string{"max_tokens": "8192"}},
		"a limit of its own":      {model: llm.Model{ID: "claude-opus-4-5", MaxOutputTokens: 100}, want: map[string]string{"max_tokens": "100"}},
		"an extra limit":          {model: llm.Model{ID: "claude-opus-4-5", MaxOutputTokens: 100, Extra: map[string]json.RawMessage{"max_tokens": raw("7")}}, want: map[string]string{"max_tokens": "7"}},
		"a budget for thinking":   {model: llm.Model{ID: "claude-opus-4-5", Extra: map[string]json.RawMessage{"thinking": raw(`{"type":"enabled","budget_tokens":40000}`)}}, want: map[string]string{"max_tokens": "72000"}},
		"temperature 0":           {model: llm.Model{ID: "claude-sonnet-4-5-20250929", Temperature: &zero}, want: map[string]string{"temperature": "0"}},
		"temperature, exactly":    {model: llm.Model{ID: "claude-haiku-4-5", Temperature: &warm}, want: map[string]string{"temperature": "0.7"}},
		"temperature beyond 1":    {model: llm.Model{ID: "claude-3-5-haiku-latest", Temperature: &hot}, want: map[string]string{"temperature": "1"}},
		"temperature, another's":  {model: llm.Model{ID: "glm-5", Temperature: &warm}, want: map[string]string{"temperature": "0.7"}},
		"deprecated there":        {model: llm.Model{ID: "claude-opus-4-7", Temperature: &warm}, without: []string{"temperature"}},
		"deprecated in all since": {model: llm.Model{ID: "claude-sonnet-5-5", Temperature: &zero}, without: []string{"temperature"}},
		"no temperature beside thinking": {model: llm.Model{ID: "claude-sonnet-4-6", Temperature: &warm, Extra: map[string]json.RawMessage{"thinking": raw(`{"type":"adaptive"}`)}},
			want: map[string]string{"thinking": `{"type":"adaptive"}`}, without: []string{"temperature"}},
		"extra fields win": {model: llm.Model{ID: "claude-haiku-4-5", Temperature: &warm, Extra: map[string]json.RawMessage{"temperature": raw("0.1"), "top_k": raw("5")}},
			want: map[string]string{"temperature": "0.1", "top_k": "5"}},
		"an extra null removes": {model: llm.Model{ID: "claude-haiku-4-5", Temperature: &warm, Extra: map[string]json.RawMessage{"temperature": raw("null")}}, without: []string{"temperature"}},
		"extra does not touch the conversation": {model: llm.Model{ID: "claude-haiku-4-5", Extra: map[string]json.RawMessage{"messages": raw("[]"), "stream": raw("false"), "system": raw(`"x"`)}},
			want: map[string]string{"stream": "true"}, without: []string{"system"}},
	} {
		t.Run(name, func(t *testing.T) {
			req := ask("hi")
			req.Model = row.model
			got := sent(t, req)
			for field, want := range row.want {
				require.JSONEq(t, want, string(got.Fields[field]), field)
			}
			for _, field := range row.without {
				require.NotContains(t, got.Fields, field)
			}
			require.Equal(t, "hi", got.LastUser())
			require.Equal(t, row.model.ID, got.Model)
		})
	}
}

func TestSystemRows_AtTheBeginningArePromptLaterOnesAreToldWhereTheyCame(t *testing.T) {
	req := ask("one")
	req.Messages = []llm.Message{message(chat.RoleSystem, "Be brief."), message(chat.RoleSystem, " "), message(chat.RoleSystem, "[Compressed History] …"),
		message(chat.RoleUser, "one"), message(chat.RoleAssistant, "two"), message(chat.RoleSystem, "Be kind."), message(chat.RoleUser, "three")}
	got := sent(t, req)
	require.Len(t, got.System, 2)
	require.Equal(t, "Be brief.", got.System[0].Text)
	require.Equal(t, "[Compressed History] …", got.System[1].Text)
	require.Len(t, got.Messages, 3)
	require.Equal(t, "<system>\nBe kind.\n</system>", got.Messages[2].Blocks[0].Text)
	require.Equal(t, "three", got.Messages[2].Blocks[1].Text)
}

func TestResultsOfAStep_AreFirstInOneUserMessage(t *testing.T) {
	req := ask("hi")
	req.Tools = clock
	req.Messages = append(req.Messages,
		called(chat.NewToolCall("a", "get_time", ""), chat.NewToolCall("b", "get_time", `{"broken`)),
		result("a", "noon"), message(chat.RoleSystem, "Be kind."), result("b", "Error: no"), message(chat.RoleUser, "and now?"))
	got := sent(t, req)
	require.Len(t, got.Messages, 3)
	require.Equal(t, []string{"tool_use", "tool_use"}, got.Messages[1].Types())
	require.JSONEq(t, `{}`, got.Messages[1].Blocks[0].Input)
	require.JSONEq(t, `{"_unparsed":"{\"broken"}`, got.Messages[1].Blocks[1].Input)
	require.Equal(t, []string{"tool_result", "tool_result", "text", "text"}, got.Messages[2].Types())
	require.False(t, got.Messages[2].Blocks[0].IsError)
	require.True(t, got.Messages[2].Blocks[1].IsError)
}

func TestAConversation_BeginsAndEndsWithTheUser(t *testing.T) {
	req := ask("")
	req.Messages = []llm.Message{message(chat.RoleAssistant, "a reminder"), message(chat.RoleUser, "thanks"), message(chat.RoleUser, ""),
		message(chat.RoleAssistant, "a"), message(chat.RoleAssistant, "\n"), message(chat.RoleAssistant, "b")}
	got := sent(t, req)
	var roles []string
	for _, m := range got.Messages {
		roles = append(roles, m.Role)
	}
	require.Equal(t, []string{"user", "assistant", "user", "assistant", "user"}, roles)
	require.Equal(t, "thanks(empty message)", got.Messages[2].Text())
	require.Equal(t, "ab", got.Messages[3].Text())

	req.Messages = []llm.Message{message(chat.RoleSystem, "only a prompt")}
	require.Len(t, sent(t, req).Messages, 1)
}

func TestIDsAndNamesOfOtherProviders_AreToldInTheFormTheAPITakes(t *testing.T) {
	req := ask("hi")
	req.Tools = clock
	req.Messages = append(req.Messages,
		called(chat.NewToolCall("functions.get_time:0", "get time!", "{}"), chat.NewToolCall("functions_get_time_0", strings.Repeat("x", 200), "{}"), chat.NewToolCall("", "", "{}")),
		result("functions.get_time:0", "1"), result("functions_get_time_0", "2"), result("", "3"))
	got := sent(t, req)
	var ids, texts []string
	for _, b := range got.Messages[1].Blocks {
		ids = append(ids, b.ID)
	}
	require.Equal(t, []string{"functions_get_time_0", "functions_get_time_0_2", "call"}, ids)
	for i, b := range got.Messages[2].Blocks {
		require.Equal(t, ids[i], b.ID, "a result has the id of its call")
		texts = append(texts, b.Text)
	}
	require.Equal(t, []string{"1", "2", "3"}, texts)
	require.Equal(t, "get_time_", got.Messages[1].Blocks[0].Name)
}

func TestTools_AreSentForbiddenAndNamedForTheHistory(t *testing.T) {
	req := ask("hi")
	req.Tools = []llm.Tool{{Name: "find", Description: "Finds.", Parameters: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"anyOf":[{"type":"null"}]}},"required":["z"],"$defs":{"x":{}}}`)}, clock[0]}
	got := sent(t, req)
	require.Equal(t, string(req.Tools[0].Parameters), string(got.Tools[0].Schema), "byte for byte: the cache depends on it")
	require.JSONEq(t, `{"type":"object","properties":{}}`, string(got.Tools[1].Schema))
	require.Empty(t, got.ToolChoice)

	req.ForbidTools = true
	got = sent(t, req)
	require.Len(t, got.Tools, 2, "the API wants tools named when the history has calls")
	require.Equal(t, "none", got.ToolChoice)

	req = ask("hi")
	req.Messages = append(req.Messages, called(chat.NewToolCall("a", "gone", "{}")), result("a", "1"))
	got = sent(t, req)
	require.Equal(t, "gone", got.Tools[0].Name)
	require.Equal(t, "none", got.ToolChoice)
}

func TestImages_AreWhatTheirBytesAre(t *testing.T) {
	var pngBytes, jpegBytes bytes.Buffer
	require.NoError(t, png.Encode(&pngBytes, image.NewGray(image.Rect(0, 0, 2, 2))))
	require.NoError(t, jpeg.Encode(&jpegBytes, image.NewGray(image.Rect(0, 0, 2, 2)), nil))
	req := ask("look")
	req.Messages[0].Images = []llm.Image{{MIME: "image/jpeg", Data: pngBytes.Bytes()}, {Data: jpegBytes.Bytes()}, {URL: "https://example.com/a.png"}, {MIME: "image/png", Data: []byte("<svg/>")}}
	got := sent(t, req).Messages[0]
	require.Equal(t, []string{"image", "image", "image", "text"}, got.Types())
	require.Equal(t, "image/png", got.Blocks[0].MediaType)
	require.Equal(t, "image/jpeg", got.Blocks[1].MediaType)
	require.Equal(t, "https://example.com/a.png", got.Blocks[2].URL)
	require.Equal(t, "look\n(an image was attached, but its format is not one that the model takes)", got.Text())

	req.Model.Vision = false
	got = sent(t, req).Messages[0]
	require.Equal(t, []string{"text"}, got.Types())
	require.Equal(t, "look\n(an image was attached, but this model cannot see images)", got.Text())
}

func TestBreakpoints_AreOnWhatComesAgain(t *testing.T) {
	req := ask("one")
	req.Tools = append([]llm.Tool{{Name: "a"}}, clock...)
	req.Messages = []llm.Message{message(chat.RoleSystem, "s"), message(chat.RoleSystem, "t"), message(chat.RoleUser, "one"), message(chat.RoleAssistant, "two"),
		message(chat.RoleUser, "three"), called(chat.NewToolCall("a", "a", "{}")), result("a", "1"), message(chat.RoleUser, "and?")}
	require.Equal(t, []string{"tools.1", "system.1", "messages.2.0", "messages.4.1"}, sent(t, req).Breakpoints)

	req.Model.Extra = map[string]json.RawMessage{"cache_control": json.RawMessage(`{"type":"ephemeral"}`)}
	got := sent(t, req)
	require.Empty(t, got.Breakpoints, "who sets it leaves the marks to the API")
	require.Contains(t, got.Fields, "cache_control")
	req.Model.Extra["cache_control"] = json.RawMessage("null")
	got = sent(t, req)
	require.Empty(t, got.Breakpoints, "null is no caching at all")
	require.NotContains(t, got.Fields, "cache_control")

	req = ask("one")
	req.Schema = &llm.Schema{Name: "x", JSON: json.RawMessage(`{"type":"object","additionalProperties":false}`)}
	require.Empty(t, sent(t, req).Breakpoints, "what is asked once needs no cache")
}

// Over the steps of a turn each request finds in the cache what the last one wrote.
func TestAConversationThatGrows_IsReadFromTheCache(t *testing.T) {
	server := fakeanthropic.Start(t, fakeanthropic.Config{})
	p := connect(t)(server.URL())
	req := ask("hi")
	req.Tools = clock
	req.Messages = append([]llm.Message{message(chat.RoleSystem, "s")}, req.Messages...)
	for step := range 5 {
		id := "call" + string(rune('a'+step))
		server.Enqueue(fakeanthropic.Reply{Thinking: "hm", Text: "x", ToolCalls: []fakeanthropic.ToolCall{{ID: id, Name: "get_time", Input: "{}"}}})
		got, err := p.Complete(t.Context(), req, nil)
		require.NoError(t, err)
		r := server.Requests()[step]
		require.Positive(t, r.CacheWritten)
		if step > 0 {
			before := server.Requests()[step-1]
			require.Equal(t, before.CacheRead+before.CacheWritten, r.CacheRead, "step %d", step)
			require.GreaterOrEqual(t, got.Usage.PromptTokens, int64(r.CacheRead+r.CacheWritten), "what was cached counts")
		}
		req.Messages = append(req.Messages, answered(got), result(id, "noon"))
	}
}

func TestABaseURLWithAVersion_IsWhatTheErrorSpeaksOf(t *testing.T) {
	server := fakeanthropic.Start(t, fakeanthropic.Config{})
	p := connect(t)(server.URL() + "/v1")
	_, err := p.Complete(t.Context(), ask("hi"), nil)
	for _, err := range []error{err, p.Ping(t.Context())} {
		require.Equal(t, llm.KindNotFound, llm.KindOf(err))
		require.ErrorContains(t, err, "Anthropic-style base URLs do not end in /v1, and base_url does")
	}
}
