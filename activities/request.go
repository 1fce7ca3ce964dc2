package activities

import (
	"strings"
	"time"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/prompt"
	"picobot/internal/text"
	"picobot/internal/tools"
	"picobot/store"
)

// requestSize is how large a request may be, or is.
type requestSize struct {
	tokens     int // of text, as they are estimated
	images     int
	imageBytes int
}

func sizeOf(req llm.Request) requestSize {
	var s requestSize
	messages := make([]chat.Message, len(req.Messages))
	for i, m := range req.Messages {
		messages[i] = m.Message
		s.images += len(m.Images)
		for _, image := range m.Images {
			s.imageBytes += len(image.Data)
		}
	}
	s.tokens = prompt.Estimate(messages)
	return s
}

// request builds the model's request from the record's rows and the index, which is
// no row. When tools are forbidden in it, limit says why.
func (a *Activities) request(t store.TurnContext, m llm.Model, size requestSize, index string, maxIterations, step int) (req llm.Request, limit text.Message, err error) {
	rows := make([]prompt.Dated, len(t.Rows))
	for i, r := range t.Rows {
		rows[i] = prompt.Dated{Message: r.Message, At: time.UnixMilli(r.CreatedAt)}
	}
	messages, err := prompt.Fit(prompt.Messages(prompt.WithDays(rows, prompt.Place{Channel: t.Session.Channel, Zone: a.Zone})), t.Cut, size.tokens-indexTokens(index), func(m chat.Message) (string, error) {
		return a.Keep(tools.Call{ID: t.Turn.ID + "." + m.ToolCallID, TurnID: t.Turn.ID, SessionID: t.Session.ID}, m.ToolName, m.Content)
	})
	if err != nil {
		return req, nil, err
	}
	messages = prompt.WithIndex(messages, index)
	if step > maxIterations {
		limit = text.ToolLimitReached{Limit: maxIterations}
	} else if tool, ok := repeating(t.Rows, t.Turn.ID); ok {
		limit = text.ToolKeepsFailing{Tool: tool, Times: maxRepeats}
	}
	req = llm.Request{Model: m, Messages: make([]llm.Message, len(messages)), ForbidTools: limit != nil}
	images := imageBudget{count: size.images, bytes: size.imageBytes}
	for i := len(messages) - 1; i >= 0; i-- { // the newest images first: they are what it is about
		req.Messages[i] = a.withImages(messages[i], m.Vision, &images)
	}
	for _, d := range a.Tools.Definitions() {
		req.Tools = append(req.Tools, llm.Tool{Name: d.Name, Description: d.Description, Parameters: d.Parameters})
	}
	return req, limit, nil
}

// indexTokens is how much room the index takes.
func indexTokens(index string) int {
	if index == "" {
		return 0
	}
	return prompt.Estimate([]chat.Message{{Content: index}})
}

// held says which rows of the session a request holds.
type held struct{ rows, stubs store.Seqs }

func heldIn(req llm.Request, rows []store.Row) held {
	whole := map[int64]string{}
	for _, r := range rows {
		whole[r.Seq] = r.Content
	}
	var in, stubs []int64
	for _, m := range req.Messages {
		if m.Seq == 0 {
			continue
		}
		in = append(in, m.Seq)
		if content := whole[m.Seq]; m.Role == chat.RoleTool && content != "" && content != m.Content {
			stubs = append(stubs, m.Seq)
		}
	}
	return held{store.NewSeqs(in), store.NewSeqs(stubs)}
}

// room is how much of a window a request may fill: what the answer needs stays free.
func room(windowTokens, maxOutputTokens int) int {
	if maxOutputTokens <= 0 {
		maxOutputTokens = windowTokens / 8
	}
	return windowTokens - min(maxOutputTokens, windowTokens/2)
}

// maxRepeats identical failing calls in a row are taken for a loop.
const maxRepeats = 3

// repeating reports whether the turn's last calls are the same failing call over
// and over, and of which tool.
func repeating(rows []store.Row, turnID string) (tool string, ok bool) {
	type outcome struct{ name, arguments, result string }
	var last []outcome
	results := map[string]string{}
	for _, r := range rows {
		if r.TurnID == turnID && r.Role == chat.RoleTool {
			results[r.ToolCallID] = r.Content
		}
	}
	for _, r := range rows {
		if r.TurnID != turnID {
			continue
		}
		for _, c := range r.ToolCalls {
			last = append(last, outcome{c.Function.Name, c.Function.Arguments, results[c.ID]})
		}
	}
	if len(last) < maxRepeats {
		return "", false
	}
	last = last[len(last)-maxRepeats:]
	for _, o := range last {
		if o != last[0] || !strings.HasPrefix(o.result, "Error:") {
			return "", false
		}
	}
	return last[0].name, true
}
