package fakeopenai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// refusal is why a request is not served.
type refusal struct {
	status  int
	code    string
	message string
}

func refuse(format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, code: "invalid_value", message: fmt.Sprintf(format, args...)}
}

// missingField is what DeepSeek and other servers with typed decoders answer.
func missingField(i int, name string) *refusal {
	return &refusal{status: http.StatusUnprocessableEntity, code: "missing_field",
		message: fmt.Sprintf("Failed to deserialize the JSON body into the target type: messages[%d]: missing field `%s`", i, name)}
}

type wireRequest struct {
	Model               string          `json:"model"`
	Messages            []wireMessage   `json:"messages"`
	Tools               []wireTool      `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	Stream              bool            `json:"stream"`
	StreamOptions       json.RawMessage `json:"stream_options"`
	Temperature         *float64        `json:"temperature"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
}

type wireMessage struct {
	Role             string          `json:"role"`
	Content          json.RawMessage `json:"content"`
	ToolCalls        []wireCall      `json:"tool_calls"`
	ToolCallID       string          `json:"tool_call_id"`
	ReasoningContent *string         `json:"reasoning_content"`
}

type wireCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type wireTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// decode reads a request and says what is wrong with it. What could be read is
// returned in either case, for the record.
func decode(body []byte) (Request, *refusal) {
	req := Request{Raw: body}
	var wire wireRequest
	if err := json.Unmarshal(body, &wire); err != nil {
		return req, refuse("We could not parse the JSON body of your request: %v", err)
	}
	// The first decoding succeeded, so this one does.
	_ = json.Unmarshal(body, &req.Fields)
	req.Model, req.Stream, req.Temperature = wire.Model, wire.Stream, wire.Temperature
	req.ToolChoice = strings.Trim(string(wire.ToolChoice), `"`)
	for _, n := range []*int{wire.MaxTokens, wire.MaxCompletionTokens} {
		if n != nil {
			req.MaxTokens = *n
		}
	}
	for _, t := range wire.Tools {
		req.Tools = append(req.Tools, Tool{Name: t.Function.Name, Description: t.Function.Description, Parameters: t.Function.Parameters})
	}
	var bad *refusal
	for i, m := range wire.Messages {
		message, wrong := decodeMessage(i, m)
		if wrong != nil && bad == nil {
			bad = wrong
		}
		req.Messages = append(req.Messages, message)
	}
	for _, check := range []func() *refusal{
		func() *refusal { return checkParameters(wire) },
		func() *refusal { return checkTools(wire) },
		func() *refusal { return bad },
		func() *refusal { return checkPairs(req.Messages) },
	} {
		if wrong := check(); wrong != nil {
			return req, wrong
		}
	}
	return req, nil
}

var reasoningModel = regexp.MustCompile(`^(o[134]|gpt-[5-9])`)

func checkParameters(wire wireRequest) *refusal {
	switch {
	case wire.Model == "":
		return refuse("you must provide a model parameter")
	case len(wire.Messages) == 0:
		return refuse("Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	case present(wire.StreamOptions) && !wire.Stream:
		return refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case present(wire.ToolChoice) && len(wire.Tools) == 0:
		return refuse("Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
	case wire.MaxTokens != nil && wire.MaxCompletionTokens != nil:
		return refuse("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case wire.MaxTokens != nil && reasoningModel.MatchString(wire.Model):
		return refuse("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	case wire.MaxTokens != nil && *wire.MaxTokens < 1, wire.MaxCompletionTokens != nil && *wire.MaxCompletionTokens < 1:
		return refuse("Invalid 'max_tokens': integer below minimum value. Expected a value >= 1.")
	case wire.Temperature != nil && (*wire.Temperature < 0 || *wire.Temperature > 2):
		return refuse("Invalid 'temperature': decimal out of range. Expected a value between 0 and 2.")
	case wire.Temperature != nil && *wire.Temperature != 1 && reasoningModel.MatchString(wire.Model):
		return refuse("Unsupported value: 'temperature' does not support %v with this model. Only the default (1) value is supported.", *wire.Temperature)
	}
	return nil
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func checkTools(wire wireRequest) *refusal {
	seen := map[string]bool{}
	for i, t := range wire.Tools {
		name := t.Function.Name
		if t.Type != "function" {
			return refuse("Invalid value: '%s'. Supported values are: 'function'. (tools[%d].type)", t.Type, i)
		}
		if !toolName.MatchString(name) {
			return refuse("Invalid 'tools[%d].function.name': string does not match pattern '%s'.", i, toolName)
		}
		if seen[name] {
			return refuse("Tool names must be unique: '%s' appears twice.", name)
		}
		seen[name] = true
		if !present(t.Function.Parameters) {
			continue
		}
		var schema struct {
			Type       string                     `json:"type"`
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
		}
		if err := json.Unmarshal(t.Function.Parameters, &schema); err != nil {
			return refuse("Invalid schema for function '%s': %v", name, err)
		}
		if schema.Type != "object" {
			return refuse("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: %q'.", name, schema.Type)
		}
		for _, key := range schema.Required {
			if _, ok := schema.Properties[key]; !ok {
				return refuse("Invalid schema for function '%s': 'required' names '%s', which is not in 'properties'.", name, key)
			}
		}
	}
	return nil
}

func decodeMessage(i int, m wireMessage) (Message, *refusal) {
	message := Message{Role: m.Role, ToolCallID: m.ToolCallID, ReasoningContent: m.ReasoningContent}
	wrong := readContent(i, m, &message)
	if w := readCalls(i, m, &message); wrong == nil {
		wrong = w
	}
	if wrong != nil {
		return message, wrong
	}
	empty := strings.TrimSpace(message.Content) == "" && len(message.Images) == 0
	switch m.Role {
	case "system", "developer", "user":
		if empty {
			return message, refuse("Invalid value for 'messages[%d].content': expected a non-empty string.", i)
		}
	case "assistant":
		if empty && len(m.ToolCalls) == 0 {
			return message, refuse("Invalid value for 'messages[%d].content': an assistant message needs content or tool_calls.", i)
		}
	case "tool":
		if m.ToolCallID == "" {
			return message, missingField(i, "tool_call_id")
		}
	default:
		return message, refuse("Invalid value: '%s'. Supported values are: 'system', 'developer', 'user', 'assistant' and 'tool'. (messages[%d].role)", m.Role, i)
	}
	if m.Role != "assistant" && len(m.ToolCalls) > 0 {
		return message, refuse("'tool_calls' is only allowed for messages with role 'assistant'. (messages[%d])", i)
	}
	return message, nil
}

func readContent(i int, m wireMessage, into *Message) *refusal {
	switch {
	case m.Content == nil:
		return missingField(i, "content")
	case bytes.Equal(m.Content, []byte("null")):
		if m.Role != "assistant" {
			return refuse("Invalid value for 'messages[%d].content': expected a string, got null.", i)
		}
		return nil
	case m.Content[0] == '"':
		if err := json.Unmarshal(m.Content, &into.Content); err != nil {
			return refuse("Invalid value for 'messages[%d].content': %v", i, err)
		}
		return nil
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(m.Content, &parts); err != nil || len(parts) == 0 {
		return refuse("Invalid type for 'messages[%d].content': expected a string or a non-empty array of parts.", i)
	}
	for _, part := range parts {
		switch part.Type {
		case "text":
			if part.Text == "" {
				return refuse("Invalid 'messages[%d].content': a text part must not be empty.", i)
			}
			into.Content += part.Text
		case "image_url":
			if m.Role != "user" {
				return refuse("Image parts are only allowed for messages with role 'user'. (messages[%d])", i)
			}
			if !imageURL(part.ImageURL.URL) {
				return refuse("Invalid 'messages[%d].content': expected a base64-encoded data URL with an image MIME type, or an http(s) URL.", i)
			}
			into.Images = append(into.Images, part.ImageURL.URL)
		default:
			return refuse("Invalid value: '%s'. (messages[%d].content part type)", part.Type, i)
		}
	}
	return nil
}

func imageURL(url string) bool {
	if strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://") {
		return true
	}
	rest, ok := strings.CutPrefix(url, "data:image/")
	if !ok {
		return false
	}
	_, data, ok := strings.Cut(rest, ";base64,")
	if !ok || data == "" {
		return false
	}
	_, err := base64.StdEncoding.DecodeString(data)
	return err == nil
}

func readCalls(i int, m wireMessage, into *Message) *refusal {
	seen := map[string]bool{}
	for j, call := range m.ToolCalls {
		at := fmt.Sprintf("messages[%d].tool_calls[%d]", i, j)
		var arguments string
		switch {
		case call.ID == "":
			return refuse("Missing required parameter: '%s.id'.", at)
		case seen[call.ID]:
			return refuse("Duplicate value for 'tool_call_id' of '%s' in message %d.", call.ID, i)
		case call.Type != "function":
			return refuse("Invalid value: '%s'. Supported values are: 'function'. (%s.type)", call.Type, at)
		case !toolName.MatchString(call.Function.Name):
			return refuse("Invalid '%s.function.name': string does not match pattern '%s'.", at, toolName)
		case !present(call.Function.Arguments):
			return refuse("Missing required parameter: '%s.function.arguments'.", at)
		case json.Unmarshal(call.Function.Arguments, &arguments) != nil:
			return refuse("Invalid type for '%s.function.arguments': expected a string.", at)
		case !json.Valid([]byte(arguments)):
			return refuse("Invalid '%s.function.arguments': the string is not valid JSON.", at)
		}
		seen[call.ID] = true
		into.ToolCalls = append(into.ToolCalls, ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: arguments})
	}
	return nil
}

// checkPairs holds every tool call to exactly one result, directly after it.
func checkPairs(messages []Message) *refusal {
	var open []string // calls of the last assistant message that wait for a result
	unanswered := func() *refusal {
		if len(open) == 0 {
			return nil
		}
		return refuse("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
			"The following tool_call_ids did not have response messages: %s", strings.Join(open, ", "))
	}
	for i, m := range messages {
		if m.Role != "tool" {
			if wrong := unanswered(); wrong != nil {
				return wrong
			}
			open = nil
			for _, call := range m.ToolCalls {
				open = append(open, call.ID)
			}
			continue
		}
		left := make([]string, 0, len(open))
		for _, id := range open {
			if id != m.ToolCallID {
				left = append(left, id)
			}
		}
		if len(left) == len(open) {
			return refuse("Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'. (messages[%d], %s)", i, m.ToolCallID)
		}
		open = left
	}
	return unanswered()
}

var schemaName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkFormat holds a response_format to what OpenAI, or a server that knows less,
// takes (https://platform.openai.com/docs/guides/structured-outputs).
func (s *Server) checkFormat(raw json.RawMessage) *refusal {
	if !present(raw) {
		return nil
	}
	var format struct {
		Type   string `json:"type"`
		Schema struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
			Strict bool            `json:"strict"`
		} `json:"json_schema"`
	}
	if err := json.Unmarshal(raw, &format); err != nil {
		return refuse("Invalid type for 'response_format': %v", err)
	}
	var schema any
	switch {
	case s.config.NoFormat:
		return refuse("Unrecognized request argument supplied: response_format")
	case format.Type == "json_object":
		return nil
	case format.Type != "json_schema":
		return refuse("Invalid value: '%s'. Supported values are: 'json_object', 'json_schema', and 'text'. (response_format.type)", format.Type)
	case s.config.NoSchema:
		return refuse("This response_format type is unavailable now")
	case !schemaName.MatchString(format.Schema.Name):
		return refuse("Invalid 'response_format.json_schema.name': string does not match pattern '%s'.", schemaName)
	case json.Unmarshal(format.Schema.Schema, &schema) != nil:
		return refuse("Missing required parameter: 'response_format.json_schema.schema'.")
	case format.Schema.Strict && !closed(schema):
		return refuse("Invalid schema for response_format '%s': 'additionalProperties' is required to be supplied and to be false, and 'required' to list every property.", format.Schema.Name)
	}
	return nil
}

// checkReasoning holds messages to what thinking models want.
func (s *Server) checkReasoning(messages []Message) *refusal {
	for i, m := range messages {
		switch {
		case s.config.Thinks && len(m.ToolCalls) > 0 && m.ReasoningContent == nil:
			return refuse("thinking is enabled but reasoning_content is missing in assistant tool call message at index %d", i)
		case s.config.NoThought && m.ReasoningContent != nil:
			return refuse("messages[%d]: the field reasoning_content is not allowed here", i)
		}
	}
	return nil
}

// closed reports that every object of a schema requires what it has and allows no
// more.
func closed(schema any) bool {
	inner := []any{}
	switch v := schema.(type) {
	case map[string]any:
		properties, _ := v["properties"].(map[string]any)
		required, _ := v["required"].([]any)
		if v["type"] == "object" && (v["additionalProperties"] != false || len(required) != len(properties)) {
			return false
		}
		for _, value := range v {
			inner = append(inner, value)
		}
	case []any:
		inner = v
	}
	for _, one := range inner {
		if !closed(one) {
			return false
		}
	}
	return true
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }
