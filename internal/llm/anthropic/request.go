package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"picobot/internal/chat"
	"picobot/internal/llm"
)

// ReservedFields are the adapter's business: a model's extra fields do not set them.
func ReservedFields() []string { return []string{"messages", "stream", "system", "tools"} }

// noParameters is the schema of a tool that takes nothing.
var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

// request is a request as it goes to the SDK, and what the wire layer adds.
type request struct {
	params sdk.MessageNewParams
	patch  map[string]json.RawMessage
	form   form
	schema *llm.Schema
	by     string
}

func newRequest(req llm.Request, f form) request {
	r := request{form: f, schema: req.Schema, by: signer(req.Model)}
	r.params = sdk.MessageNewParams{Model: req.Model.ID, MaxTokens: int64(maxTokens(req.Model))}
	if t, ok := temperature(req.Model); ok {
		r.params.Temperature = sdk.Float(t)
	}
	c := newConversation(req, f)
	r.params.System, r.params.Messages = c.system, c.messages()
	r.params.Tools, r.params.ToolChoice = tools(req, c)
	r.askForJSON()
	r.patch = extra(req, f, c)
	if _, own := req.Model.Extra["cache_control"]; !own {
		r.breakpoints()
	}
	return r
}

// tools returns the tools of a request and who may use them. The API refuses a
// history with calls when no tools are named, so the tools of the history are.
func tools(req llm.Request, c *conversation) ([]sdk.ToolUnionParam, sdk.ToolChoiceUnionParam) {
	offered := req.Tools
	forbid := req.ForbidTools
	if len(offered) == 0 {
		forbid = true
		for _, name := range c.called {
			offered = append(offered, llm.Tool{Name: name})
		}
	}
	var out []sdk.ToolUnionParam
	for _, t := range offered {
		tool := sdk.ToolParam{Name: toolName(t.Name), InputSchema: schemaParam(t.Parameters)}
		if t.Description != "" {
			tool.Description = sdk.String(t.Description)
		}
		out = append(out, sdk.ToolUnionParam{OfTool: &tool})
	}
	var choice sdk.ToolChoiceUnionParam
	if forbid && len(out) > 0 {
		choice.OfNone = &sdk.ToolChoiceNoneParam{}
	}
	return out, choice
}

// schemaParam passes a schema on as it is: the SDK's type would lose what it does
// not know, and put the properties in another order each time.
func schemaParam(schema json.RawMessage) sdk.ToolInputSchemaParam {
	if len(schema) == 0 {
		schema = noParameters
	}
	return param.Override[sdk.ToolInputSchemaParam](schema)
}

// askForJSON adds what makes the model answer in the schema's form.
func (r *request) askForJSON() {
	if r.schema == nil {
		return
	}
	switch r.form.output {
	case outputFormat:
		r.params.OutputConfig.Format = param.Override[sdk.JSONOutputFormatParam](json.RawMessage(
			`{"type":"json_schema","schema":` + string(r.schema.JSON) + `}`))
	case outputTool:
		answer := sdk.ToolParam{Name: r.schema.Name, Description: sdk.String("Gives the answer."), InputSchema: schemaParam(r.schema.JSON)}
		r.params.Tools = append(r.params.Tools, sdk.ToolUnionParam{OfTool: &answer})
		r.params.ToolChoice = sdk.ToolChoiceUnionParam{OfTool: &sdk.ToolChoiceToolParam{Name: r.schema.Name}}
	case outputWords:
		r.params.System = append(r.params.System, sdk.TextBlockParam{Text: r.schema.Instruction()})
	}
}

// extra returns the model's extra fields, as the wire layer merges them: they win,
// and null removes what the adapter would have sent.
func extra(req llm.Request, f form, c *conversation) map[string]json.RawMessage {
	patch := map[string]json.RawMessage{}
	for name, value := range req.Model.Extra {
		patch[name] = value
	}
	for _, field := range ReservedFields() {
		delete(patch, field)
	}
	if req.Schema != nil && f.output == outputTool {
		delete(patch, "tool_choice")
		delete(patch, "thinking") // the API refuses both together
	}
	if thinkingOf(req.Model).Type == "enabled" && c.inToolLoop() && !c.startsWithThought() {
		// The API then wants a thought that there is none of: another model made the
		// calls, or thoughts are dropped. Without the field it does not.
		delete(patch, "thinking")
	}
	return patch
}

// breakpoints marks what the next request will begin with again, so that the
// endpoint caches it (https://platform.claude.com/docs/en/build-with-claude/prompt-caching;
// four at most): the tools, the system prompt, the conversation up to here, and up
// to where the last request ended, which is what this one finds in the cache. Who
// asks for JSON asks once.
func (r *request) breakpoints() {
	if r.schema != nil {
		return
	}
	mark := sdk.NewCacheControlEphemeralParam()
	if n := len(r.params.Tools); n > 0 {
		r.params.Tools[n-1].OfTool.CacheControl = mark
	}
	if n := len(r.params.System); n > 0 {
		r.params.System[n-1].CacheControl = mark
	}
	left := 2
	for i := len(r.params.Messages) - 1; i >= 0 && left > 0; i-- {
		m := r.params.Messages[i]
		if m.Role != sdk.MessageParamRoleUser {
			continue
		}
		if c := m.Content[len(m.Content)-1].GetCacheControl(); c != nil {
			*c = mark
		}
		left--
	}
}

// signer names who signs the thoughts of a model.
func signer(m llm.Model) string { return "anthropic " + m.ID }

// thoughts returns the thoughts of an earlier answer that this model takes back:
// its own.
func thoughts(req llm.Request, f form, m chat.Message) []chat.ReasoningBlock {
	if f.noThoughts || req.Model.Reasoning == "drop" {
		return nil
	}
	r := chat.ParseReasoning(m.ReasoningContent)
	if r.By != signer(req.Model) {
		return nil
	}
	return r.Blocks
}

func hasThoughts(req llm.Request) bool {
	for _, m := range req.Messages {
		if len(thoughts(req, form{}, m.Message)) > 0 {
			return true
		}
	}
	return false
}
