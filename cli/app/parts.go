package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"

	"picobot/activities"
	"picobot/gateway"
	"picobot/gateway/feishu"
	"picobot/internal/chat"
	"picobot/internal/config"
	"picobot/internal/flow"
	"picobot/internal/live"
	"picobot/internal/llm"
	"picobot/internal/llm/catalog"
	"picobot/internal/netguard"
	"picobot/internal/prompt"
	"picobot/internal/schedule"
	"picobot/internal/skills"
	"picobot/internal/text"
	"picobot/internal/tools"
	"picobot/internal/tracing"
	"picobot/store"
	"picobot/worker"
)

// parts are what does the work of turns: models, tools, and the worker that runs
// activities with them.
type parts struct {
	cfg        config.Config
	catalog    *catalog.Catalog
	workspace  *tools.Workspace
	skills     *skills.Library // nil = they are switched off
	tools      *tools.Registry
	terminal   *terminalSender
	feishu     *feishu.App // nil = the channel is off
	activities *activities.Activities
	worker     *worker.Worker
	mask       func(string) string
}

func newParts(o Options, record *store.Store, hub *live.Hub, c client.Client, queues flow.Queues, traces *tracing.Tracing, open *closers) (*parts, error) {
	cfg := o.Config
	p := &parts{cfg: cfg, terminal: &terminalSender{}, mask: o.Scrub.Text}
	var err error
	if p.catalog, err = NewCatalog(cfg); err != nil {
		return nil, err
	}
	open.add("the models", func() error { p.catalog.Close(); return nil })
	if p.workspace, err = tools.OpenWorkspace(cfg.Workspace, cfg.Tools.Files.RestrictToWorkspace); err != nil {
		return nil, err
	}
	open.add("the workspace", p.workspace.Close)
	if p.skills = Skills(o, record); p.skills != nil {
		p.workspace.AlsoRead(func() []string { return p.skills.Readable(context.Background()) })
		for _, problem := range p.skills.Snapshot(context.Background()).Skipped() {
			o.Log.Warn("a skill was skipped", "folder", problem.Path, "problem", problem.Message)
		}
	}
	if p.tools, err = newTools(o, p.workspace, record, p.skills); err != nil {
		return nil, err
	}
	zone, err := cfg.Location()
	if err != nil {
		return nil, fmt.Errorf("time_zone: %w", err)
	}
	senders, preparers := map[string]activities.Sender{chat.ChannelCLI: p.terminal}, map[string]activities.Preparer{}
	if p.feishu = newFeishu(o, record, hub, p.workspace, p.summarize); p.feishu != nil {
		senders[chat.ChannelFeishu], preparers[chat.ChannelFeishu] = p.feishu, p.feishu
	}
	p.activities = activities.New(activities.Deps{
		Record:        record,
		Models:        p.catalog,
		Agents:        agents(cfg.Agents),
		Tools:         p.tools,
		Prompt:        prompt.NewAgentFile(o.Home.AgentFile()),
		Senders:       senders,
		Preparers:     preparers,
		Hub:           hub,
		Cleanup:       activities.Cleanup{Retention: cfg.Session.Retention(), MediaDir: o.Home.MediaDir()},
		Texts:         text.For(cfg.Locale),
		Now:           o.Now,
		Logger:        o.Log,
		Mask:          p.mask,
		Keep:          p.workspace.Keep,
		Index:         p.index(),
		Scheduler:     activities.Scheduler{Enabled: cfg.Scheduler.Enabled, Since: o.Now(), RunTimeout: cfg.Scheduler.RunTimeout()},
		Media:         activities.Media{Dir: o.Home.MediaDir()},
		Summaries:     cfg.Temporal.Summaries,
		Zone:          zone,
		ReinjectEvery: cfg.Gateway.AgentPromptReinjectEvery,
		Compaction:    activities.Compaction{Threshold: cfg.Session.CompactionThreshold, KeepTurns: cfg.Session.CompactionKeepTurns},
		TitleAfter:    cfg.Session.AutoTitleAfterNMessages,

		MaintenanceEnabled: cfg.Memory.MaintenanceEnabled,
	})
	p.worker = worker.New(c, p.activities, worker.Options{
		Queues:        queues,
		MaxModelCalls: cfg.Worker.MaxModelCalls,
		MaxToolCalls:  cfg.Worker.MaxToolCalls,
		MaxDeliveries: cfg.Worker.MaxDeliveries,
		StopTimeout:   stopWorker,
		StickyTimeout: 5 * time.Second,
		Logger:        o.Log,
		Traces:        traces,
		Turns:         record,
	})
	return p, nil
}

// NewCatalog builds the configured models.
func NewCatalog(cfg config.Config) (*catalog.Catalog, error) {
	providers := map[string]catalog.Provider{}
	for name, p := range cfg.Providers {
		providers[name] = catalog.Provider{Type: p.Type, BaseURL: p.BaseURL, APIKey: p.APIKey.Reveal(), Headers: p.Headers, Timeout: p.Timeout()}
	}
	models := map[string]catalog.Model{}
	for name, m := range cfg.Models {
		models[name] = catalog.Model{
			Provider:            m.Provider,
			ContextWindowTokens: m.ContextWindowTokens,
			Model: llm.Model{
				Name: name, ID: m.Model, MaxOutputTokens: m.MaxOutputTokens, Temperature: m.Temperature,
				Reasoning: m.Reasoning, Vision: m.Vision, Stream: m.Stream, Extra: m.Extra,
			},
		}
	}
	c, err := catalog.New(providers, models)
	if err != nil {
		return nil, fmt.Errorf("the models of the configuration cannot be used: %w", err)
	}
	return c, nil
}

func newTools(o Options, w *tools.Workspace, record *store.Store, library *skills.Library) (*tools.Registry, error) {
	cfg := o.Config.Tools
	zone, err := o.Config.Location()
	if err != nil {
		return nil, fmt.Errorf("time_zone: %w", err)
	}
	web := tools.HTTPOptions{
		Guard:    netguard.New(netguard.Options{AllowPrivate: cfg.HTTP.AllowPrivateNetworks}),
		Timeout:  cfg.HTTP.Timeout(),
		MaxBytes: int64(cfg.HTTP.MaxBytes),
	}
	var folders func() []string
	if library != nil {
		folders = func() []string { return library.ReadableIn(context.Background(), o.Home.Dir) }
	}
	all := append([]tools.Tool{
		tools.Calculator(),
		tools.GetTime(o.Now, zone),
		tools.FileRead(w, cfg.MaxResultChars),
		tools.FileWrite(w),
		tools.FileEdit(w),
		tools.Bash(w, tools.BashOptions{
			Timeout:        cfg.Bash.Timeout(),
			MaxTimeout:     cfg.Bash.MaxTimeout(),
			EnvAllow:       cfg.Bash.EnvAllow,
			MaxResultChars: cfg.MaxResultChars,
			Now:            o.Now,
			Sandbox:        sandbox(o, w, folders),
		}),
		tools.HTTPRequest(web),
		tools.WebFetch(web),
		tools.SessionSend(),
		tools.MemorySearch(record, zone),
		tools.MemoryManage(),
		tools.SchedulerManage(tools.SchedulerOptions{
			Rules:         func() schedule.Rules { return o.Config.JobRules(o.Now()) },
			AllowFromJobs: o.Config.Scheduler.AllowFromJobs,
		}),
	}, skillTools(library)...)
	return tools.NewRegistry(
		tools.Options{Disabled: cfg.Disabled, MaxResultChars: cfg.MaxResultChars, Spill: w.Spill, Logger: o.Log}, all...)
}

// agents are the configured agents.
type agents map[string]config.Agent

// Agent implements activities.Agents.
func (a agents) Agent(name string) activities.Agent {
	cfg, ok := a[name]
	if !ok {
		cfg = a[config.DefaultAgent]
	}
	return activities.Agent{
		Models:            append([]string{cfg.Model}, cfg.FallbackModels...),
		MaxToolIterations: cfg.MaxToolIterations,
		MaxParallelTools:  cfg.MaxParallelTools,
	}
}

func agentNames(cfg config.Config) []string { return slices.Sorted(maps.Keys(cfg.Agents)) }

// model says which model an agent uses, for clients.
func (p *parts) model(agent string) gateway.Model {
	name := agents(p.cfg.Agents).Agent(agent).Models[0]
	return gateway.Model{Name: name, Offline: p.catalog.IsOffline(name)}
}

// summarize says what a call does, for clients.
func (p *parts) summarize(name, arguments string) string {
	return p.mask(p.tools.Summary(name, arguments, 0))
}

// knowsTool says which names are those of tools here.
func (p *parts) knowsTool() func(name string) bool {
	names := map[string]bool{}
	for _, d := range p.tools.Definitions() {
		names[d.Name] = true
	}
	return func(name string) bool { return names[name] }
}

// terminalSender delivers to terminals: to the server once there is one.
type terminalSender struct{ server atomic.Pointer[gateway.CLI] }

func (t *terminalSender) use(server *gateway.CLI) { t.server.Store(server) }

// Send implements activities.Sender.
func (t *terminalSender) Send(ctx context.Context, o store.Outbound) (string, error) {
	server := t.server.Load()
	if server == nil {
		return "", activities.ErrNobodyThere // a worker of its own has no clients: the gateway hands it over
	}
	id, err := server.Send(ctx, o)
	if errors.Is(err, gateway.ErrNobodyConnected) {
		return "", activities.ErrNobodyThere
	}
	return id, err
}
