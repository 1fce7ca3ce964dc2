package fakeanthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// fields are the fields of a request that the server knows; it refuses others.
var fields = []string{"model", "messages", "max_tokens", "system", "tools", "tool_choice", "stream", "temperature", "top_k", "top_p",
	"thinking", "output_config", "metadata", "stop_sequences", "service_tier", "cache_control"}

type wireRequest struct {
	Model        string            `json:"model"`
	MaxTokens    *int              `json:"max_tokens"`
	Stream       bool              `json:"stream"`
	Temperature  *float64          `json:"temperature"`
	System       json.RawMessage   `json:"system"`
	Messages     []wireMessage     `json:"messages"`
	Tools        []json.RawMessage `json:"tools"`
	ToolChoice   *wireChoice       `json:"tool_choice"`
	Thinking     *wireThinking     `json:"thinking"`
	OutputConfig struct {
		Format *struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
		Effort string `json:"effort"`
	} `json:"output_config"`
}

type wireMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type wireChoice struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

type wireThinking struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens"`
}

type wireTool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl json.RawMessage `json:"cache_control"`
}

// decode reads a request and says what is wrong with it, "" when nothing is. What
// could be read is returned in either case, for the record.
func (s *Server) decode(body []byte) (Request, string) {
	req := Request{Raw: body}
	var wire wireRequest
	if err := json.Unmarshal(body, &req.Fields); err != nil {
		return req, refuse("The request body is not valid JSON: %v", err)
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return req, refuse("%v", err)
	}
	for name := range req.Fields {
		if !slices.Contains(fields, name) {
			return req, refuse("%s: Extra inputs are not permitted", name)
		}
	}
	req.Model, req.Stream = wire.Model, wire.Stream
	if wire.MaxTokens != nil {
		req.MaxTokens = *wire.MaxTokens
	}
	if wire.Thinking != nil {
		req.Thinking = wire.Thinking.Type
	}
	if wire.ToolChoice != nil {
		req.ToolChoice = wire.ToolChoice.Type
		if wire.ToolChoice.Type == "tool" {
			req.ToolChoice = wire.ToolChoice.Name
		}
	}
	var problem string
	note := func(p string) {
		if problem == "" {
			problem = p
		}
	}
	note(req.readTools(wire.Tools))
	note(req.readSystem(wire.System))
	for i, m := range wire.Messages {
		note(req.readMessage(i, m))
	}
	note(checkParameters(wire))
	note(s.checkOutput(wire))
	note(checkCache(req))
	note(checkRoles(req.Messages))
	note(checkPairs(req))
	note(s.checkThoughts(req, wire.Thinking))
	return req, problem
}

func (r *Request) readTools(tools []json.RawMessage) string {
	for i, raw := range tools {
		var t wireTool
		if err := strict(raw, &t); err != nil {
			return refuse("tools.%d.%v", i, err)
		}
		tool := Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema, Cached: present(t.CacheControl)}
		r.Tools = append(r.Tools, tool)
		r.chain(fmt.Sprintf("tools.%d", i), t.Name+"\x00"+t.Description+"\x00"+string(t.InputSchema), tool.Cached)
	}
	return ""
}

func (r *Request) readSystem(raw json.RawMessage) string {
	if !present(raw) {
		return ""
	}
	blocks, problem := readContent("system", raw)
	r.System = blocks
	for i, b := range blocks {
		if b.Type != "text" {
			return refuse("system.%d.type: Input should be 'text'", i)
		}
		r.chain(fmt.Sprintf("system.%d", i), b.Text, b.Cached)
	}
	return problem
}

func (r *Request) readMessage(i int, m wireMessage) string {
	at := fmt.Sprintf("messages.%d", i)
	blocks, problem := readContent(at+".content", m.Content)
	r.Messages = append(r.Messages, Message{Role: m.Role, Blocks: blocks})
	for j, b := range blocks {
		bare := b
		bare.Cached = false
		r.chain(fmt.Sprintf("%s.%d", at, j), fmt.Sprintf("%s\x00%+v", m.Role, bare), b.Cached)
	}
	switch {
	case problem != "":
		return problem
	case m.Role != "user" && m.Role != "assistant":
		return refuse("%s.role: Input should be 'user' or 'assistant'", at)
	}
	allowed := []string{"text", "image", "tool_result"}
	if m.Role == "assistant" {
		allowed = []string{"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "web_search_tool_result"}
	}
	for j, b := range blocks {
		if !slices.Contains(allowed, b.Type) {
			return refuse("%s.content.%d: `%s` blocks are not permitted in a message of role %s", at, j, b.Type, m.Role)
		}
	}
	return ""
}

func readContent(at string, raw json.RawMessage) ([]Block, string) {
	if !present(raw) {
		return nil, refuse("%s: Field required", at)
	}
	if raw[0] == '"' {
		var text string
		_ = json.Unmarshal(raw, &text) // it is valid JSON, and a string
		if strings.TrimSpace(text) == "" {
			return nil, refuse("%s: all messages must have non-empty content", at)
		}
		return []Block{{Type: "text", Text: text}}, ""
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, refuse("%s: Input should be a valid list", at)
	}
	if len(list) == 0 {
		return nil, refuse("%s: all messages must have non-empty content", at)
	}
	var out []Block
	for i, one := range list {
		b, problem := readBlock(one)
		out = append(out, b)
		if problem != "" {
			return out, refuse("%s.%d.%s", at, i, problem)
		}
	}
	return out, ""
}

// The blocks that the server knows, each with exactly its fields.
type (
	textBlock struct {
		Type         string          `json:"type"`
		Text         *string         `json:"text"`
		CacheControl json.RawMessage `json:"cache_control"`
	}
	thinkingBlock struct {
		Type      string  `json:"type"`
		Thinking  *string `json:"thinking"`
		Signature *string `json:"signature"`
	}
	redactedBlock struct {
		Type string  `json:"type"`
		Data *string `json:"data"`
	}
	toolUseBlock struct {
		Type         string          `json:"type"`
		ID           string          `json:"id"`
		Name         string          `json:"name"`
		Input        json.RawMessage `json:"input"`
		CacheControl json.RawMessage `json:"cache_control"`
	}
	toolResultBlock struct {
		Type         string          `json:"type"`
		ToolUseID    string          `json:"tool_use_id"`
		Content      json.RawMessage `json:"content"`
		IsError      bool            `json:"is_error"`
		CacheControl json.RawMessage `json:"cache_control"`
	}
	imageBlock struct {
		Type   string `json:"type"`
		Source struct {
			Type      string `json:"type"`
			MediaType string `json:"media_type"`
			Data      string `json:"data"`
			URL       string `json:"url"`
		} `json:"source"`
		CacheControl json.RawMessage `json:"cache_control"`
	}
)

func readBlock(raw json.RawMessage) (Block, string) {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return Block{}, "type: Field required"
	}
	b := Block{Type: kind.Type}
	var err error
	switch kind.Type {
	case "text":
		var w textBlock
		err = strict(raw, &w)
		b.Text, b.Cached = value(w.Text), present(w.CacheControl)
		if err == nil && strings.TrimSpace(b.Text) == "" {
			return b, "text: text content blocks must contain non-whitespace text"
		}
	case "thinking":
		var w thinkingBlock
		err = strict(raw, &w)
		b.Text, b.Signature = value(w.Thinking), value(w.Signature)
		if err == nil && (w.Thinking == nil || w.Signature == nil) {
			return b, "thinking.signature: Field required"
		}
	case "redacted_thinking":
		var w redactedBlock
		err = strict(raw, &w)
		b.Data = value(w.Data)
	case "tool_use":
		var w toolUseBlock
		err = strict(raw, &w)
		b.ID, b.Name, b.Input, b.Cached = w.ID, w.Name, string(w.Input), present(w.CacheControl)
	case "tool_result":
		var w toolResultBlock
		err = strict(raw, &w)
		b.ID, b.IsError, b.Cached = w.ToolUseID, w.IsError, present(w.CacheControl)
		if err == nil && present(w.Content) {
			inner, problem := readContent("content", w.Content)
			b.Text = Message{Blocks: inner}.Text()
			if problem != "" {
				return b, problem
			}
		}
	case "image":
		var w imageBlock
		err = strict(raw, &w)
		b.Data, b.MediaType, b.URL, b.Cached = w.Source.Data, w.Source.MediaType, w.Source.URL, present(w.CacheControl)
		if err == nil {
			if problem := checkImage(w); problem != "" {
				return b, problem
			}
		}
	case "server_tool_use", "web_search_tool_result":
		b.Raw = string(raw)
	default:
		return b, fmt.Sprintf("type: Input tag '%s' found using 'type' does not match any of the expected tags", kind.Type)
	}
	if err != nil {
		return b, fmt.Sprintf("%s: %v", kind.Type, err)
	}
	return b, ""
}

// strict refuses fields that the type does not have.
func strict(raw json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("Extra inputs are not permitted (%w)", err) //nolint:staticcheck // the service's own words
	}
	return nil
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }
