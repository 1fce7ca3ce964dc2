package config

import "encoding/json"

// Default returns the configuration of a machine without a file and without a key
// in the environment: everything at its default, the offline model answering.
// Its workspace is empty, because only Load knows the home.
func Default() Config {
	c := defaults()
	r := resolver{cfg: &c, problems: newProblems(), env: noEnv}
	r.models()
	return c
}

// defaults returns what a file is laid over. Every call makes fresh maps.
func defaults() Config {
	return Config{
		Locale:    LocaleEnglish,
		TimeZone:  "Local",
		Providers: map[string]Provider{},
		Models:    map[string]Model{},
		Agents:    map[string]Agent{DefaultAgent: defaultAgent()},
		Gateway: Gateway{
			Addr:                     "127.0.0.1:19876",
			AllowedOrigins:           []string{},
			AgentPromptReinjectEvery: 100,
			MaxMessageBytes:          8 << 20,
		},
		Temporal: Temporal{
			Mode:          TemporalEmbedded,
			Address:       "127.0.0.1:7233",
			Namespace:     "default",
			TaskQueue:     "picobot",
			UIAddr:        "127.0.0.1:8233",
			RetentionDays: 7,
			Summaries:     true,
		},
		Worker: Worker{MaxModelCalls: 256, MaxToolCalls: 32, MaxDeliveries: 64},
		Session: Session{
			TTLHours:                24,
			OnExpiry:                ExpiryKeep,
			CleanupIntervalMinutes:  60,
			AutoTitleAfterNMessages: 10,
			StorageRetryDelaysMS:    []int{100, 200, 300},
			CompactionThreshold:     0.5,
			CompactionKeepTurns:     3,
		},
		Channels: Channels{Feishu: Feishu{
			Domain:         DomainFeishu,
			AllowFrom:      []string{},
			RequireMention: true,
			Agent:          DefaultAgent,
		}},
		Memory: Memory{MaintenanceEnabled: true},
		Skills: Skills{
			Enabled:         true,
			Sources:         []string{SkillsUser, SkillsUserAgent, SkillsProject, SkillsProjectAgent},
			MaxIndexChars:   4000,
			MaxListedSkills: 32,
		},
		Tools: Tools{
			Disabled:       []string{},
			Bash:           Bash{TimeoutSeconds: 120, MaxTimeoutSeconds: 3600, EnvAllow: []string{}},
			HTTP:           HTTPTools{TimeoutSeconds: 30, MaxBytes: 2 << 20},
			Files:          FileTools{RestrictToWorkspace: true},
			MaxResultChars: 16000,
		},
		Scheduler: Scheduler{
			Enabled:           true,
			MisfirePolicy:     MisfireSkip,
			RunTimeoutSeconds: 3600,
			TickResolutionMS:  1000,
			Jobs:              []json.RawMessage{},
		},
	}
}

// defaultProvider is what each entry of providers is laid over.
func defaultProvider() Provider {
	return Provider{Type: ProviderOpenAI, Headers: map[string]string{}, TimeoutSeconds: 300}
}

// defaultModel is what each entry of models is laid over.
func defaultModel() Model {
	return Model{
		ContextWindowTokens: 128000,
		Reasoning:           ReasoningAuto,
		Vision:              true,
		Stream:              true,
		Extra:               map[string]json.RawMessage{},
	}
}

// defaultAgent is what each entry of agents is laid over.
func defaultAgent() Agent {
	return Agent{FallbackModels: []string{}, MaxToolIterations: 50, MaxParallelTools: 4}
}

func noEnv(string) (string, bool) { return "", false }
