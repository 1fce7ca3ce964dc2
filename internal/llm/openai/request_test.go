package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/llm/openai"
	"picobot/internal/testkit/fakeopenai"
)

// sent returns the request as it arrives.
func sent(t *testing.T, req llm.Request) fakeopenai.Request {
	t.Helper()
	server := fakeopenai.Start(t, fakeopenai.Config{})
	_, err := connect(t)(server.URL()).Complete(t.Context(), req, nil)
	require.NoError(t, err)
	require.Equal(t, 1, server.Count())
	return server.Requests()[0]
}

func TestSamplingAndLimits(t *testing.T) {
	zero, warm := 0.0, 0.7
	for name, row := range map[string]struct {
		model   llm.Model
		want    map[string]string
		without []string
	}{
		"nothing set": {
			model:   llm.Model{ID: "some-model", Stream: true},
			want:    map[string]string{"model": `"some-model"`, "stream": "true", "stream_options": `{"include_usage":true}`},
			without: []string{"temperature", "max_tokens", "max_completion_tokens", "tools", "tool_choice"},
		},
		"no stream": {
			model:   llm.Model{ID: "some-model"},
			want:    map[string]string{"stream": "false"},
			without: []string{"stream_options"},
		},
		"temperature 0 is sent": {
			model: llm.Model{ID: "some-model", Temperature: &zero, MaxOutputTokens: 100},
			want:  map[string]string{"temperature": "0", "max_tokens": "100"},
		},
		"temperature is sent exactly": {
			model: llm.Model{ID: "some-model", Temperature: &warm},
			want:  map[string]string{"temperature": "0.7"},
		},
		"reasoning model": {
			model:   llm.Model{ID: "gpt-5-mini", Temperature: &warm, MaxOutputTokens: 100},
			want:    map[string]string{"max_completion_tokens": "100"},
			without: []string{"temperature", "max_tokens"},
		},
		"reasoning model behind a router": {
			model:   llm.Model{ID: "openai/o3-mini", Temperature: &warm, MaxOutputTokens: 100},
			want:    map[string]string{"max_completion_tokens": "100"},
			without: []string{"temperature", "max_tokens"},
		},
		"models that go-openai refuses by itself": {
			model: llm.Model{ID: "text-davinci-003"},
			want:  map[string]string{"model": `"text-davinci-003"`},
		},
		"extra fields are merged and win": {
			model: llm.Model{ID: "some-model", Temperature: &warm, Extra: map[string]json.RawMessage{
				"enable_thinking": json.RawMessage("false"), "temperature": json.RawMessage("0.1"), "thinking": json.RawMessage(`{"type":"disabled"}`)}},
			want: map[string]string{"enable_thinking": "false", "temperature": "0.1", "thinking": `{"type":"disabled"}`},
		},
		"an extra null removes": {
			model:   llm.Model{ID: "some-model", Stream: true, Extra: map[string]json.RawMessage{"stream_options": json.RawMessage("null")}},
			without: []string{"stream_options"},
		},
		"an extra limit replaces ours": {
			model:   llm.Model{ID: "some-model", MaxOutputTokens: 100, Extra: map[string]json.RawMessage{"max_completion_tokens": json.RawMessage("7")}},
			want:    map[string]string{"max_completion_tokens": "7"},
			without: []string{"max_tokens"},
		},
		"extra does not touch the conversation": {
			model: llm.Model{ID: "some-model", Extra: map[string]json.RawMessage{"messages": json.RawMessage("[]"), "stream": json.RawMessage("true")}},
			want:  map[string]string{"stream": "false"},
		},
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
		})
	}
}

func TestReasoningGoesBackToWhoWantsIt(t *testing.T) {
	for _, row := range []struct {
		mode, model string
		echoed      bool
	}{
		{"auto", "deepseek-chat", true},
		{"", "moonshotai/Kimi-K2-Thinking", true},
		{"auto", "gpt-4o", false},
		{"echo", "some-model", true},
		{"drop", "deepseek-reasoner", false},
	} {
		t.Run(row.mode+" "+row.model, func(t *testing.T) {
			req := ask("hi")
			req.Model.ID, req.Model.Reasoning = row.model, row.mode
			thought := message(chat.RoleAssistant, "")
			thought.ReasoningContent = "hm"
			thought.ToolCalls = []chat.ToolCall{chat.NewToolCall("a", "get_time", "")}
			result := message(chat.RoleTool, "")
			result.ToolCallID = "a"
			req.Messages = append(req.Messages, thought, result, message(chat.RoleAssistant, "plain"), message(chat.RoleUser, "go on"))
			got := sent(t, req)
			if row.echoed {
				require.Equal(t, "hm", *got.Messages[1].ReasoningContent)
			} else {
				require.Nil(t, got.Messages[1].ReasoningContent)
			}
			require.Nil(t, got.Messages[3].ReasoningContent)
			require.Equal(t, "{}", got.Messages[1].ToolCalls[0].Arguments)
			require.Equal(t, "(no output)", got.Messages[2].Content)
			require.Contains(t, string(got.Raw), `"content":""`, "a tool-call message without content has an empty one")
		})
	}
}

func TestImagesAreShownToModelsThatSee(t *testing.T) {
	req := ask("look")
	req.Messages[0].Images = []llm.Image{{MIME: "image/png", Data: []byte("png")}, {Data: []byte("\xff\xd8\xff\xe0")}, {URL: "https://example.com/a.png"}}
	req.Model.Vision = true
	got := sent(t, req)
	require.Equal(t, "look", got.LastUser())
	require.Equal(t, []string{"data:image/png;base64,cG5n", "data:image/jpeg;base64,/9j/4A==", "https://example.com/a.png"}, got.Messages[0].Images)

	req.Model.Vision = false
	got = sent(t, req)
	require.Empty(t, got.Messages[0].Images)
	require.Equal(t, "look\n(an image was attached, but this model cannot see images)", got.LastUser())
}

func TestBrokenArgumentsOfEarlierCallsTravelAsJSON(t *testing.T) {
	for written, want := range map[string]string{
		"":                   `{}`,
		"null":               `{}`,
		`{"a": 1}`:           `{"a": 1}`,
		`{"a":`:              `{"invalid_arguments":"{\"a\":"}`,
		`"{\"a\":1}"`:        `{"invalid_arguments":"\"{\\\"a\\\":1}\""}`,
		`[1]`:                `{"invalid_arguments":"[1]"}`,
		`{"a":1}{"a":1}`:     `{"invalid_arguments":"{\"a\":1}{\"a\":1}"}`,
		"bad \xff utf8":      "{\"invalid_arguments\":\"bad \\ufffd utf8\"}",
		" {\"a\": \"界\"} \n": " {\"a\": \"界\"} \n",
	} {
		t.Run(written, func(t *testing.T) {
			req := ask("hi")
			call := message(chat.RoleAssistant, "")
			call.ToolCalls = []chat.ToolCall{chat.NewToolCall("a", "get_time", written)}
			result := message(chat.RoleTool, "ok")
			result.ToolCallID = "a"
			req.Messages = append(req.Messages, call, result)
			require.Equal(t, want, sent(t, req).Messages[1].ToolCalls[0].Arguments)
		})
	}
}

func TestHeaders(t *testing.T) {
	server := fakeopenai.Start(t, fakeopenai.Config{Key: "from-header"})
	p := openai.New(openai.Config{Name: "p", BaseURL: server.URL() + "/", APIKey: "ignored", Headers: map[string]string{
		"Authorization": "Bearer from-header", "X-Title": "bot"}})
	t.Cleanup(p.Close)
	_, err := p.Complete(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	header := server.Requests()[0].Header
	require.Equal(t, "bot", header.Get("X-Title"))
	require.Equal(t, "picobot", header.Get("User-Agent"))
	require.NoError(t, p.Ping(t.Context()))
}

func TestToolsAreSentAndForbidden(t *testing.T) {
	req := ask("hi")
	req.Tools = []llm.Tool{{Name: "get_time", Description: "Tells the time."}}
	got := sent(t, req)
	require.JSONEq(t, `{"type":"object","properties":{}}`, string(got.Tools[0].Parameters))
	require.Empty(t, got.ToolChoice)

	req.ForbidTools = true
	got = sent(t, req)
	require.Len(t, got.Tools, 1)
	require.Equal(t, "none", got.ToolChoice)

	req.Tools = nil
	require.Empty(t, sent(t, req).ToolChoice)
}
