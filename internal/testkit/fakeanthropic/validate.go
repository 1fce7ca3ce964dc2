package fakeanthropic

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// idPattern and namePattern are what ids of calls and names of tools have to be.
var (
	idPattern   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	// noSampling are the models that take no temperature but the default one.
	noSampling = regexp.MustCompile(`^claude-(?:opus-4-[78]|[a-z]+-5)`)
)

func checkParameters(wire wireRequest) string {
	switch {
	case wire.Model == "":
		return refuse("model: Field required")
	case wire.MaxTokens == nil:
		return refuse("max_tokens: Field required")
	case *wire.MaxTokens < 1:
		return refuse("max_tokens: Input should be greater than or equal to 1")
	case len(wire.Messages) == 0:
		return refuse("messages: at least one message is required")
	case wire.Temperature != nil && (*wire.Temperature < 0 || *wire.Temperature > 1):
		return refuse("temperature: range: 0..1")
	case wire.Temperature != nil && *wire.Temperature != 1 && noSampling.MatchString(wire.Model):
		return refuse("`temperature` is deprecated for this model.")
	}
	if t := wire.Thinking; t != nil {
		on := t.Type == "enabled" || t.Type == "adaptive"
		switch {
		case !slices.Contains([]string{"enabled", "adaptive", "disabled"}, t.Type):
			return refuse("thinking: Input tag '%s' found using 'type' does not match any of the expected tags", t.Type)
		case t.Type == "enabled" && t.Budget < 1024:
			return refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
		case t.Type == "enabled" && t.Budget >= *wire.MaxTokens:
			return refuse("`max_tokens` must be greater than `thinking.budget_tokens`.")
		case on && wire.Temperature != nil && *wire.Temperature != 1:
			return refuse("`temperature` may only be set to 1 when thinking is enabled.")
		case on && wire.ToolChoice != nil && (wire.ToolChoice.Type == "tool" || wire.ToolChoice.Type == "any"):
			return refuse("Thinking may not be enabled when tool_choice forces tool use.")
		}
	}
	return checkTools(wire)
}

func checkTools(wire wireRequest) string {
	seen := map[string]bool{}
	for i, raw := range wire.Tools {
		var t wireTool
		_ = json.Unmarshal(raw, &t) // read before
		var schema struct {
			Type string `json:"type"`
		}
		switch {
		case !namePattern.MatchString(t.Name):
			return refuse("tools.%d.custom.name: String should match pattern '%s'", i, namePattern)
		case seen[t.Name]:
			return refuse("tools: Tool names must be unique.")
		case json.Unmarshal(t.InputSchema, &schema) != nil || schema.Type != "object":
			return refuse("tools.%d.custom.input_schema.type: Field required", i)
		}
		seen[t.Name] = true
	}
	switch c := wire.ToolChoice; {
	case c == nil:
	case !slices.Contains([]string{"auto", "any", "tool", "none"}, c.Type):
		return refuse("tool_choice: Input tag '%s' does not match any of the expected tags", c.Type)
	case len(wire.Tools) == 0:
		return refuse("tool_choice: may only be specified while providing `tools`")
	case c.Type == "tool" && !seen[c.Name]:
		return refuse("tool_choice: Tool '%s' not found in provided tools", c.Name)
	}
	return ""
}

func (s *Server) checkOutput(wire wireRequest) string {
	if s.config.NoForcedTool && wire.ToolChoice != nil && wire.ToolChoice.Type == "tool" {
		return refuse("tool_choice: forcing a tool is not supported by this model")
	}
	f := wire.OutputConfig.Format
	switch {
	case f == nil:
		return ""
	case s.config.NoStructured:
		return refuse("output_config.format: this model does not support structured outputs")
	case f.Type != "json_schema":
		return refuse("output_config.format.type: Input should be 'json_schema'")
	}
	var schema any
	if json.Unmarshal(f.Schema, &schema) != nil {
		return refuse("output_config.format.schema: Field required")
	}
	if !closed(schema) {
		return refuse("output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false")
	}
	return ""
}

// closed reports that every object of a schema allows no further properties.
func closed(schema any) bool {
	switch v := schema.(type) {
	case map[string]any:
		if v["type"] == "object" && v["additionalProperties"] != false {
			return false
		}
		for _, inner := range v {
			if !closed(inner) {
				return false
			}
		}
	case []any:
		for _, inner := range v {
			if !closed(inner) {
				return false
			}
		}
	}
	return true
}

func checkCache(r Request) string {
	if len(r.Breakpoints) > 4 {
		return refuse("A maximum of 4 blocks with cache_control may be provided. Found %d.", len(r.Breakpoints))
	}
	return ""
}

func checkRoles(messages []Message) string {
	for i, m := range messages {
		switch {
		case i == 0 && m.Role != "user":
			return refuse("messages: first message must use the \"user\" role")
		case i > 0 && m.Role == messages[i-1].Role:
			return refuse("messages: roles must alternate between \"user\" and \"assistant\", but found multiple %q roles in a row", m.Role)
		}
	}
	last := len(messages) - 1
	// A paused turn is the one that may end so.
	if last >= 0 && messages[last].Role == "assistant" && len(messages[last].Of("server_tool_use")) == 0 {
		return refuse("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	return ""
}

// checkPairs holds every call to exactly one result, at the beginning of the next
// message.
func checkPairs(r Request) string {
	ids := map[string]bool{}
	for i, m := range r.Messages {
		var before Message
		if i > 0 {
			before = r.Messages[i-1]
		}
		open := map[string]bool{}
		for _, call := range before.Of("tool_use") {
			open[call.ID] = true
		}
		other := false
		for j, b := range m.Blocks {
			switch b.Type {
			case "tool_result":
				switch {
				case !open[b.ID]:
					return refuse("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, b.ID)
				case other:
					return refuse("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s.", i, b.ID)
				}
				delete(open, b.ID)
				continue
			case "tool_use":
				var input map[string]json.RawMessage
				switch {
				case !idPattern.MatchString(b.ID):
					return refuse("messages.%d.content.%d.tool_use.id: String should match pattern '%s'", i, j, idPattern)
				case !namePattern.MatchString(b.Name):
					return refuse("messages.%d.content.%d.tool_use.name: String should match pattern '%s'", i, j, namePattern)
				case ids[b.ID]:
					return refuse("messages.%d.content.%d: `tool_use` ids must be unique", i, j)
				case json.Unmarshal([]byte(b.Input), &input) != nil || input == nil:
					return refuse("messages.%d.content.%d.tool_use.input: Input should be a valid dictionary", i, j)
				case len(r.Tools) == 0:
					return refuse("Requests which include `tool_use` or `tool_result` blocks must define tools")
				}
				ids[b.ID] = true
			}
			other = true
		}
		if len(open) > 0 {
			return refuse("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %v.", i, open)
		}
	}
	if n := len(r.Messages); n > 0 && len(r.Messages[n-1].Of("tool_use")) > 0 {
		return refuse("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after", n-1)
	}
	return ""
}

// checkThoughts verifies signatures, and that the latest answer comes back with its
// thoughts as and where they were.
func (s *Server) checkThoughts(r Request, thinking *wireThinking) string {
	for i, m := range r.Messages {
		for j, b := range m.Blocks {
			switch b.Type {
			case "thinking":
				if b.Signature != Sign(r.Model, b.Text) {
					return refuse("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, j)
				}
			case "redacted_thinking":
				_, rest, _ := strings.Cut(b.Data, " ")
				data, signature, _ := strings.Cut(rest, " ")
				if signature != Sign(r.Model, data) {
					return refuse("messages.%d.content.%d: Invalid `data` in `redacted_thinking` block", i, j)
				}
			}
		}
	}
	n := len(r.Messages)
	if n < 2 || len(r.Messages[n-1].Of("tool_result")) == 0 {
		return ""
	}
	latest := r.Messages[n-2]
	calls := latest.Of("tool_use")
	if len(calls) == 0 {
		return "" // refused for that before
	}
	first := latest.Blocks[0]
	if thinking != nil && thinking.Type == "enabled" && first.Type != "thinking" && first.Type != "redacted_thinking" {
		return refuse("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block.", n-2, first.Type)
	}
	if len(latest.Of("thinking"))+len(latest.Of("redacted_thinking")) == 0 {
		return ""
	}
	s.mu.Lock()
	served, known := s.served[calls[0].ID]
	s.mu.Unlock()
	if !known {
		return ""
	}
	for j := range max(len(served), len(latest.Blocks)) {
		if j >= len(served) || j >= len(latest.Blocks) || served[j].Type != latest.Blocks[j].Type ||
			served[j].Signature != latest.Blocks[j].Signature || served[j].Data != latest.Blocks[j].Data {
			return refuse("messages.%d.content.%d: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.", n-2, j)
		}
	}
	return ""
}

// maxImageBytes is of the base64 text.
const maxImageBytes = 5 << 20

func checkImage(w imageBlock) string {
	switch w.Source.Type {
	case "url":
		if !strings.HasPrefix(w.Source.URL, "https://") && !strings.HasPrefix(w.Source.URL, "http://") {
			return "image.source.url: Only HTTPS URLs are supported"
		}
		return ""
	case "base64":
	default:
		return "image.source: Input tag does not match any of the expected tags: 'base64', 'url'"
	}
	if !slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, w.Source.MediaType) {
		return "image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
	}
	if len(w.Source.Data) > maxImageBytes {
		return refuse("image.source.base64: image exceeds 5 MB maximum: %d bytes > %d bytes", len(w.Source.Data), maxImageBytes)
	}
	data, err := base64.StdEncoding.DecodeString(w.Source.Data)
	if err != nil || len(data) == 0 {
		return "image.source.base64: invalid base64 data"
	}
	if found := http.DetectContentType(data); found != w.Source.MediaType {
		return refuse("image.source.base64.data: The image was specified using the %s media type, but the image appears to be a %s image", w.Source.MediaType, found)
	}
	return ""
}
