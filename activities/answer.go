package activities

import (
	"fmt"
	"sort"
	"strings"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/text"
)

// answer makes of a response the row that is stored: calls that may run, with ids
// of their own and arguments that are JSON, or else words for the person.
func (a *Activities) answer(resp llm.Response, req llm.Request, limit text.Message, taken func(id string) bool) chat.Message {
	m := chat.Message{Role: chat.RoleAssistant, Content: strings.ToValidUTF8(resp.Content, "\uFFFD"), ReasoningContent: strings.ToValidUTF8(resp.ReasoningContent, "\uFFFD")}
	switch {
	case resp.Stop == llm.StopLength:
		// Calls that were cut off must not run half-written.
		m.Content = joinText(m.Content, a.Texts.Say(text.AnswerCut{Model: req.Model.Name}))
	case resp.Stop == llm.StopContentFilter:
		m.Content = joinText(m.Content, a.Texts.Say(text.ModelContentFiltered{Model: req.Model.Name, Provider: req.Model.Provider}))
	case req.ForbidTools:
		// Calls made in spite of it are not run.
		if strings.TrimSpace(m.Content) == "" {
			m.Content = a.Texts.Say(limit)
		}
	case len(resp.ToolCalls) > 0:
		m.ToolCalls = ownIDs(resp.ToolCalls, taken)
	case strings.TrimSpace(m.Content) == "":
		m.Content = a.Texts.Say(text.EmptyAnswer{Model: req.Model.Name})
	}
	return m
}

func joinText(answer, note string) string {
	if strings.TrimSpace(answer) == "" {
		return note
	}
	return answer + "\n\n" + note
}

// ownIDs makes ids that a provider repeats unlike those that are taken and each other,
// leaves the others as they are (some providers insist on their own form), and stores
// arguments as JSON.
func ownIDs(calls []chat.ToolCall, taken func(id string) bool) []chat.ToolCall {
	out := make([]chat.ToolCall, len(calls))
	given := map[string]bool{}
	for i, c := range calls {
		id := unused(c.ID, func(id string) bool { return given[id] || taken(id) })
		given[id] = true
		out[i] = chat.NewToolCall(id, c.Function.Name, chat.StoredArguments(c.Function.Arguments))
	}
	return out
}

// unused returns id, or id_N with the first N that is free. A provider that begins
// anew with each answer has had thousands of them: the search is in steps that double.
func unused(id string, taken func(id string) bool) string {
	if id == "" {
		id = "call"
	}
	if !taken(id) {
		return id
	}
	name := func(n int) string { return fmt.Sprintf("%s_%d", id, n) }
	free := 2
	for taken(name(free)) {
		free *= 2
	}
	n := free/2 + 1 + sort.Search(free-free/2-1, func(i int) bool { return !taken(name(free/2 + 1 + i)) })
	return name(n)
}
