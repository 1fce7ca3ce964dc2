package gateway

import (
	"slices"
	"strings"
	"time"

	"picobot/internal/chat"
	"picobot/internal/text"
	"picobot/store"
)

type infoJSON struct {
	Session
	Model    string     `json:"model"`
	Usage    chat.Usage `json:"usage"`
	Workflow string     `json:"workflow,omitempty"`
}

func runInfo(tx *store.CommandTx, in invocation) (outcome, error) {
	spent, err := tx.Spent()
	if err != nil {
		return outcome{}, err
	}
	run, err := tx.LatestRun()
	if err != nil {
		return outcome{}, err
	}
	s := tx.Session
	data := infoJSON{Session: SessionOf(s), Model: in.about.model(s.Agent).Name, Usage: spent, Workflow: in.about.watch(run)}
	answer := in.words.Say(text.SessionInfo{
		Title: in.title(s), DialogID: s.DialogID, SessionID: s.ID, Agent: s.Agent, Model: data.Model,
		Created:  time.UnixMilli(s.CreatedAt).In(in.about.zone).Format("2006-01-02 15:04 MST"),
		Messages: int(s.MessageCount), Rows: int(s.TotalMessageCount),
		TokensIn: int(spent.PromptTokens), TokensOut: int(spent.CompletionTokens),
	})
	if data.Workflow != "" {
		answer += "\n" + in.words.Say(text.SessionWorkflow{Where: data.Workflow})
	}
	return say(answer).with(data)
}

type agentJSON struct {
	Agent  string   `json:"agent"`
	Model  string   `json:"model"`
	Agents []string `json:"agents"`
}

func runAgent(tx *store.CommandTx, in invocation) (outcome, error) {
	known, name := strings.Join(in.about.agents, ", "), in.args
	if name == "" {
		name = tx.Session.Agent
		return say(in.words.Say(text.AgentCurrent{Name: name, Known: known})).with(in.agent(name))
	}
	if len(in.about.agents) > 0 && !slices.Contains(in.about.agents, name) {
		return refuse(in.words.Say(text.NoSuchAgent{Name: cut(name), Known: known})), nil
	}
	if err := tx.SetAgent(name); err != nil {
		return in.readOnly(err)
	}
	return say(in.words.Say(text.AgentChanged{Name: name, Model: in.about.model(name).Name})).with(in.agent(name))
}

func (in invocation) agent(name string) agentJSON {
	return agentJSON{Agent: name, Model: in.about.model(name).Name, Agents: in.about.agents}
}
