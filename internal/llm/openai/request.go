package openai

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"picobot/internal/chat"
	"picobot/internal/llm"
)

// anyModel stands in for the model until the wire layer writes the real one:
// go-openai refuses some models and parameters by its own list, and only the
// endpoint knows what it takes.
const anyModel = "model"

// Texts for what would be empty: many endpoints refuse empty contents.
const (
	emptyUserText   = "(empty message)"
	emptyToolResult = "(no output)"
	unseenImage     = "(an image was attached, but this model cannot see images)"
)

var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

// requestBody translates a request. The model, temperature and limits are written
// by the patch, see patchFor.
func requestBody(req llm.Request, f form) goopenai.ChatCompletionRequest {
	body := goopenai.ChatCompletionRequest{Model: anyModel, Stream: req.Model.Stream}
	if req.Model.Stream {
		body.StreamOptions = &goopenai.StreamOptions{IncludeUsage: true}
	}
	if req.Schema != nil && f.output != outputSchema {
		body.Messages = append(body.Messages, goopenai.ChatCompletionMessage{Role: goopenai.ChatMessageRoleSystem, Content: req.Schema.Instruction()})
	}
	for _, m := range req.Messages {
		if message, ok := translate(m, req.Model.Vision, f.echo); ok {
			body.Messages = append(body.Messages, message)
		}
	}
	for _, tool := range req.Tools {
		parameters := tool.Parameters
		if len(parameters) == 0 {
			parameters = noParameters
		}
		body.Tools = append(body.Tools, goopenai.Tool{
			Type:     goopenai.ToolTypeFunction,
			Function: &goopenai.FunctionDefinition{Name: tool.Name, Description: tool.Description, Parameters: parameters},
		})
	}
	if req.ForbidTools && len(req.Tools) > 0 {
		body.ToolChoice = "none"
	}
	return body
}

// translate turns one message into go-openai's. It reports false for a message
// with nothing in it, which is left out.
func translate(m llm.Message, vision, echo bool) (goopenai.ChatCompletionMessage, bool) {
	out := goopenai.ChatCompletionMessage{Role: string(m.Role), Content: m.Content}
	empty := strings.TrimSpace(m.Content) == ""
	switch m.Role {
	case chat.RoleUser:
		return userMessage(m, vision), true
	case chat.RoleAssistant:
		for _, call := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, goopenai.ToolCall{
				ID:       call.ID,
				Type:     goopenai.ToolTypeFunction,
				Function: goopenai.FunctionCall{Name: toolName(call.Function.Name), Arguments: validArguments(call.Function.Arguments)},
			})
		}
		if echo {
			out.ReasoningContent = chat.ReasoningText(m.ReasoningContent)
		}
		return out, !empty || len(out.ToolCalls) > 0
	case chat.RoleTool:
		out.ToolCallID = m.ToolCallID
		if empty {
			out.Content = emptyToolResult
		}
		return out, true
	default:
		return out, !empty
	}
}

// notInName is what endpoints refuse in the names of tools, maxName how long they may
// be (https://platform.openai.com/docs/api-reference/chat/create).
var notInName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

const maxName = 64

// toolName returns the name under which an earlier call is told. A model can call
// tools that never were, by any name, and endpoints refuse such a history for ever.
func toolName(name string) string {
	name = notInName.ReplaceAllString(name, "_")
	if name == "" {
		return "unnamed"
	}
	return name[:min(len(name), maxName)]
}

func userMessage(m llm.Message, vision bool) goopenai.ChatCompletionMessage {
	out := goopenai.ChatCompletionMessage{Role: goopenai.ChatMessageRoleUser}
	text := m.Content
	if len(m.Images) > 0 && !vision {
		text = strings.TrimSpace(text + "\n" + unseenImage)
	}
	if len(m.Images) == 0 || !vision {
		out.Content = text
		if strings.TrimSpace(text) == "" {
			out.Content = emptyUserText
		}
		return out
	}
	if strings.TrimSpace(text) != "" {
		out.MultiContent = append(out.MultiContent, goopenai.ChatMessagePart{Type: goopenai.ChatMessagePartTypeText, Text: text})
	}
	for _, image := range m.Images {
		out.MultiContent = append(out.MultiContent, goopenai.ChatMessagePart{
			Type:     goopenai.ChatMessagePartTypeImageURL,
			ImageURL: &goopenai.ChatMessageImageURL{URL: imageURL(image)},
		})
	}
	return out
}

func imageURL(image llm.Image) string {
	if len(image.Data) == 0 {
		return image.URL
	}
	mime := image.MIME
	if mime == "" {
		mime = http.DetectContentType(image.Data)
	}
	return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(image.Data)
}

// validArguments returns what may be sent back as the arguments of an earlier
// call. A model can write anything; endpoints refuse, for ever, a history whose
// arguments are no JSON object, so those travel as the value of one.
func validArguments(written string) string {
	trimmed := strings.TrimSpace(written)
	if trimmed == "" || trimmed == "null" {
		return "{}"
	}
	if trimmed[0] == '{' && json.Valid([]byte(trimmed)) {
		return written
	}
	// A string always marshals.
	wrapped, _ := json.Marshal(map[string]string{"invalid_arguments": written})
	return string(wrapped)
}
