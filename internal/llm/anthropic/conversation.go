package anthropic

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"picobot/internal/chat"
	"picobot/internal/llm"
)

// Texts for what would be empty, since empty contents are refused, and for where
// the API wants a message of the user that there is none of.
const (
	emptyUserText   = "(empty message)"
	emptyToolResult = "(no output)"
	noUserYet       = "(the conversation begins)"
	goOn            = "(go on)"
	unseenImage     = "(an image was attached, but this model cannot see images)"
	unfitImage      = "(an image was attached, but its format is not one that the model takes)"
)

// conversation turns messages into the API's: system prompt apart, roles in turns,
// the results of a step first in one user message.
type conversation struct {
	req    llm.Request
	form   form
	system []sdk.TextBlockParam
	turns  []turn
	called []string // names of the tools that were called, once each
	ids    map[string]string
	taken  map[string]bool
}

// turn is a message of one side.
type turn struct {
	role    sdk.MessageParamRole
	results []sdk.ContentBlockParamUnion // of a user message; they come first
	content []sdk.ContentBlockParamUnion
}

func newConversation(req llm.Request, f form) *conversation {
	c := &conversation{req: req, form: f, ids: map[string]string{}, taken: map[string]bool{}}
	for _, m := range req.Messages {
		c.add(m)
	}
	return c
}

func (c *conversation) add(m llm.Message) {
	blank := strings.TrimSpace(m.Content) == ""
	switch m.Role {
	case chat.RoleAssistant:
		if content := c.answer(m.Message); len(content) > 0 {
			t := c.side(sdk.MessageParamRoleAssistant)
			t.content = append(t.content, content...)
		}
	case chat.RoleTool:
		text := m.Content
		if blank {
			text = emptyToolResult
		}
		t := c.side(sdk.MessageParamRoleUser)
		t.results = append(t.results, sdk.NewToolResultBlock(c.id(m.ToolCallID), text, strings.HasPrefix(text, "Error:")))
	case chat.RoleUser:
		t := c.side(sdk.MessageParamRoleUser)
		t.content = append(t.content, userContent(m, c.req.Model.Vision)...)
	default:
		switch {
		case blank:
		case len(c.turns) == 0:
			c.system = append(c.system, sdk.TextBlockParam{Text: m.Content})
		default:
			// The system prompt is what every request begins with: to change it would
			// throw away what is cached of all that follows. What comes later is told
			// where it came.
			t := c.side(sdk.MessageParamRoleUser)
			t.content = append(t.content, sdk.NewTextBlock("<system>\n"+m.Content+"\n</system>"))
		}
	}
}

// side returns the turn to add to: the last one, or a new one of the other side.
func (c *conversation) side(role sdk.MessageParamRole) *turn {
	if n := len(c.turns); n == 0 || c.turns[n-1].role != role {
		c.turns = append(c.turns, turn{role: role})
	}
	return &c.turns[len(c.turns)-1]
}

// messages returns the conversation, which begins and ends with the user.
func (c *conversation) messages() []sdk.MessageParam {
	var out []sdk.MessageParam
	user := func(text string) { out = append(out, sdk.NewUserMessage(sdk.NewTextBlock(text))) }
	if len(c.turns) == 0 || c.turns[0].role != sdk.MessageParamRoleUser {
		user(noUserYet)
	}
	for _, t := range c.turns {
		out = append(out, sdk.MessageParam{Role: t.role, Content: slices.Concat(t.results, t.content)})
	}
	// Newer models refuse to go on with an answer that is there already.
	if out[len(out)-1].Role != sdk.MessageParamRoleUser {
		user(goOn)
	}
	return out
}

// answer returns the blocks of an earlier answer: thoughts where they stood, text,
// calls.
func (c *conversation) answer(m chat.Message) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	text, calls := m.Content, m.ToolCalls
	say := func(n int) {
		if n = min(n, len(text)); strings.TrimSpace(text[:n]) != "" {
			out = append(out, sdk.NewTextBlock(text[:n]))
		}
		text = text[n:]
	}
	call := func(n int) {
		n = min(n, len(calls))
		for _, one := range calls[:n] {
			out = append(out, c.call(one))
		}
		calls = calls[n:]
	}
	for _, b := range thoughts(c.req, c.form, m) {
		switch {
		case b.Redacted != "":
			out = append(out, sdk.NewRedactedThinkingBlock(b.Redacted))
		case b.Said > 0:
			if b.Said < len(text) && !utf8.RuneStart(text[b.Said]) {
				continue // the text is not what it was
			}
			say(b.Said)
		case b.Calls > 0:
			call(b.Calls)
		case b.Signature != "" || (b.Text != "" && !isClaude(c.req.Model.ID)):
			// A thought that Claude did not sign was cut off.
			out = append(out, sdk.NewThinkingBlock(b.Signature, b.Text))
		}
	}
	said := strings.TrimSpace(m.Content) != "" || len(m.ToolCalls) > 0
	say(len(text))
	call(len(calls))
	if !said {
		return nil // thoughts alone are no message
	}
	return out
}

func (c *conversation) call(one chat.ToolCall) sdk.ContentBlockParamUnion {
	name := toolName(one.Function.Name)
	if !slices.Contains(c.called, name) {
		c.called = append(c.called, name)
	}
	return sdk.NewToolUseBlock(c.id(one.ID), json.RawMessage(chat.StoredArguments(one.Function.Arguments)), name)
}

// notInID is what the API refuses in ids and names.
var notInID = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// id returns the id under which a call is told. Ids of other providers may have
// other characters (Kimi's are functions.NAME:0).
func (c *conversation) id(id string) string {
	if told, ok := c.ids[id]; ok {
		return told
	}
	base := notInID.ReplaceAllString(id, "_")
	if base == "" {
		base = "call"
	}
	told := base
	for n := 2; c.taken[told]; n++ {
		told = fmt.Sprintf("%s_%d", base, n)
	}
	c.ids[id], c.taken[told] = told, true
	return told
}

// maxName is how long a tool's name may be.
const maxName = 128

// toolName is a name that the API takes: a model can call tools that never were.
func toolName(name string) string {
	name = notInID.ReplaceAllString(name, "_")
	if name == "" {
		return "unnamed"
	}
	return name[:min(len(name), maxName)]
}

// inToolLoop reports that the model is to go on from the results of its calls.
func (c *conversation) inToolLoop() bool {
	n := len(c.turns)
	return n > 0 && len(c.turns[n-1].results) > 0
}

// startsWithThought reports that the latest answer begins with a thought.
func (c *conversation) startsWithThought() bool {
	for _, t := range slices.Backward(c.turns) {
		if t.role == sdk.MessageParamRoleAssistant {
			return t.content[0].OfThinking != nil || t.content[0].OfRedactedThinking != nil
		}
	}
	return false
}
