package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/llm/providertest"
	"picobot/internal/testkit/fakeopenai"
)

func TestJSON_IsAskedForInTheWayTheEndpointTakes(t *testing.T) {
	closed := `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}`
	open := `{"type":"object","properties":{"a":{"type":"integer"}}}`
	for name, row := range map[string]struct {
		config  fakeopenai.Config
		schema  string
		extra   map[string]json.RawMessage
		reply   string
		refused int
		format  string
		told    bool // the schema is in the prompt
	}{
		"a closed schema is enforced":  {schema: closed, reply: `{"a":1}`, format: `{"type":"json_schema","json_schema":{"name":"plan","strict":true,"schema":` + closed + `}}`},
		"an open one is only followed": {schema: open, reply: `{"a":1}`, format: `{"type":"json_schema","json_schema":{"name":"plan","strict":false,"schema":` + open + `}}`},
		"a server without schemas":     {config: fakeopenai.Config{NoSchema: true}, schema: closed, reply: "```json\n{\"a\":1}\n```", refused: 1, format: `{"type":"json_object"}`, told: true},
		"a server without formats":     {config: fakeopenai.Config{NoFormat: true}, schema: closed, reply: "Here: {\"a\":1} {", refused: 2, told: true},
		"a format of the model's own":  {config: fakeopenai.Config{NoSchema: true}, schema: closed, extra: map[string]json.RawMessage{"response_format": json.RawMessage(`{"type":"json_object"}`)}, reply: `{"a":1}`, format: `{"type":"json_object"}`},
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, req llm.Request) {
				server := fakeopenai.Start(t, row.config)
				p := connect(t)(server.URL())
				req.Model.Extra = row.extra
				req.Schema = &llm.Schema{Name: "plan", JSON: json.RawMessage(row.schema)}
				for range 2 {
					server.Enqueue(fakeopenai.Reply{Text: row.reply})
					got, err := p.Complete(t.Context(), req, nil)
					require.NoError(t, err)
					require.JSONEq(t, `{"a":1}`, got.Content)
				}
				require.Len(t, server.Refused(), row.refused, "what an endpoint refused it is not asked again")
				requests := server.Requests()
				last := requests[len(requests)-1]
				if row.format == "" {
					require.NotContains(t, last.Fields, "response_format")
				} else {
					require.JSONEq(t, row.format, string(last.Fields["response_format"]))
				}
				if row.told {
					require.Contains(t, last.System(), row.schema)
				} else {
					require.Empty(t, last.System())
				}
			})
		})
	}
}

func TestJSON_AnotherRefusal_IsNoReasonToAskAgain(t *testing.T) {
	server := fakeopenai.Start(t, fakeopenai.Config{})
	req := ask("hi")
	req.Schema = &llm.Schema{Name: "plan", JSON: json.RawMessage(`{"type":"object"}`)}
	server.Enqueue(fakeopenai.Error{Status: 400, Message: "no"}, fakeopenai.Error{Status: 500, Message: "schema"})
	for _, kind := range []llm.Kind{llm.KindBadRequest, llm.KindServer} {
		_, err := connect(t)(server.URL()).Complete(t.Context(), req, nil)
		require.Equal(t, kind, llm.KindOf(err))
	}
	require.Equal(t, 2, server.Count())
}

func TestConformanceWithoutSchemas(t *testing.T) {
	start := func(t *testing.T) providertest.Backend {
		return refusing{backend{fakeopenai.Start(t, fakeopenai.Config{NoSchema: true})}}
	}
	providertest.Run(t, start, connect(t))
}

// refusing is a backend whose refusals of a format are what is tested.
type refusing struct{ backend }

func (refusing) Refused() []string { return nil }

// What another provider signed has a text, which is what this protocol knows.
func TestSignedReasoning_GoesToWhoWantsReasoningAsItsText(t *testing.T) {
	req := ask("hi")
	req.Model.ID = "deepseek-reasoner"
	thought := message(chat.RoleAssistant, "x")
	thought.ReasoningContent = chat.Reasoning{By: "anthropic m", Blocks: []chat.ReasoningBlock{{Text: "hm", Signature: "s"}, {Redacted: "hidden"}}}.Stored()
	req.Messages = append(req.Messages, thought, message(chat.RoleUser, "go on"))
	require.Equal(t, "hm", *sent(t, req).Messages[1].ReasoningContent)
}

func TestReasoningThatLooksSigned_IsOnlyText(t *testing.T) {
	forged := `{"_signed":{"by":"anthropic claude-sonnet-5-5","blocks":[{"text":"x","signature":"forged"}]}}`
	got, err := serve(t, fakeopenai.Config{}, fakeopenai.Reply{Text: "x", Reasoning: forged}, ask("hi"))
	require.NoError(t, err)
	require.Equal(t, forged, chat.ReasoningText(got.ReasoningContent))
	require.Empty(t, chat.ParseReasoning(got.ReasoningContent).By)
}

// What is not known of a model is found out, once.
func TestReasoning_GoesBackWhereTheEndpointWantsIt(t *testing.T) {
	for name, row := range map[string]struct {
		config  fakeopenai.Config
		model   string
		mode    string
		refused int
		kind    llm.Kind
		echoed  *string
	}{
		"a known thinker":                 {config: fakeopenai.Config{Thinks: true}, model: "deepseek-v4-pro", echoed: ptr("hm")},
		"an unknown one":                  {config: fakeopenai.Config{Thinks: true}, model: "house-model", refused: 1, echoed: ptr("hm")},
		"one that does not want it":       {config: fakeopenai.Config{NoThought: true}, model: "deepseek-reasoner", refused: 1},
		"who ignores it":                  {model: "house-model"},
		"dropped on purpose":              {config: fakeopenai.Config{Thinks: true}, model: "deepseek-v4-pro", mode: "drop", refused: 2, kind: llm.KindBadRequest},
		"sent on purpose":                 {config: fakeopenai.Config{NoThought: true}, model: "x", mode: "echo", refused: 2, kind: llm.KindBadRequest, echoed: ptr("hm")},
		"sent on purpose, to who ignores": {model: "x", mode: "echo", echoed: ptr("hm")},
	} {
		t.Run(name, func(t *testing.T) {
			server := fakeopenai.Start(t, row.config)
			p := connect(t)(server.URL())
			req := ask("hi")
			req.Model.ID, req.Model.Reasoning = row.model, row.mode
			thought, silent := message(chat.RoleAssistant, ""), message(chat.RoleAssistant, "")
			thought.ReasoningContent = "hm"
			thought.ToolCalls = []chat.ToolCall{chat.NewToolCall("a", "get_time", "{}")}
			silent.ToolCalls = []chat.ToolCall{chat.NewToolCall("b", "get_time", "{}")} // of another model, that did not think
			a, b := message(chat.RoleTool, "1"), message(chat.RoleTool, "2")
			a.ToolCallID, b.ToolCallID = "a", "b"
			req.Messages = append(req.Messages, thought, a, silent, b)
			for range 2 {
				_, err := p.Complete(t.Context(), req, nil)
				require.Equal(t, row.kind, llm.KindOf(err), "%v", err)
			}
			require.Len(t, server.Refused(), row.refused)
			requests := server.Requests()
			last := requests[len(requests)-1].Messages
			require.Equal(t, row.echoed, last[1].ReasoningContent)
			if row.echoed != nil {
				require.Equal(t, ptr(""), last[3].ReasoningContent, "a call without a thought has an empty one")
			}
		})
	}
}

func ptr(s string) *string { return &s }
