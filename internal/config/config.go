package config

import "encoding/json"

// Config is the whole configuration. The json tags are the keys of the file.
type Config struct {
	Locale    string              `json:"locale"`    // LocaleEnglish or LocaleChinese
	TimeZone  string              `json:"time_zone"` // IANA name or "Local"; see Location
	Workspace string              `json:"workspace"` // root of file tools and bash; absolute after Load
	Providers map[string]Provider `json:"providers"`
	Models    map[string]Model    `json:"models"`
	Agents    map[string]Agent    `json:"agents"` // always has DefaultAgent
	Gateway   Gateway             `json:"gateway"`
	Temporal  Temporal            `json:"temporal"`
	Worker    Worker              `json:"worker"`
	Session   Session             `json:"session"`
	Channels  Channels            `json:"channels"`
	Memory    Memory              `json:"memory"`
	Skills    Skills              `json:"skills"`
	Tools     Tools               `json:"tools"`
	Scheduler Scheduler           `json:"scheduler"`

	origin origin
}

// origin is what Load knows beyond the values. It is never written after Load.
type origin struct {
	file     string          // "" = built-in defaults
	named    map[string]bool // paths that the file names
	warnings []Problem       // what only Load can see
	zone     string          // for which time_zone "Local" stands
	absent   error           // variables that a client does without
}

// File returns the file the configuration was read from, "" for built-in defaults.
func (c Config) File() string { return c.origin.file }

// Named reports whether the file itself names the key at path ("temporal.ui_addr").
// Ports that are named are never replaced by free ones.
func (c Config) Named(path string) bool { return c.origin.named[path] }

// Provider is one endpoint that serves models.
type Provider struct {
	Type           string            `json:"type"`     // ProviderOpenAI, ProviderAnthropic or ProviderOffline
	BaseURL        string            `json:"base_url"` // without trailing slash; filled by Load unless offline
	APIKey         Secret            `json:"api_key"`
	Headers        map[string]string `json:"headers"`         // sent with every request
	TimeoutSeconds int               `json:"timeout_seconds"` // of one model call
}

// Model is one model of a provider.
type Model struct {
	Provider            string                     `json:"provider"`              // key of Config.Providers
	Model               string                     `json:"model"`                 // its id at the provider; Load fills in the entry's own name
	ContextWindowTokens int                        `json:"context_window_tokens"` // prompt and answer together
	MaxOutputTokens     int                        `json:"max_output_tokens"`     // 0 = the provider's default
	Temperature         *float64                   `json:"temperature"`           // nil = the provider's default
	Reasoning           string                     `json:"reasoning"`             // ReasoningAuto, ReasoningEcho or ReasoningDrop
	Vision              bool                       `json:"vision"`
	Stream              bool                       `json:"stream"`
	Extra               map[string]json.RawMessage `json:"extra"` // merged into the request body
}

// Agent is a way of answering: a model and its limits.
type Agent struct {
	Model             string   `json:"model"`           // key of Config.Models; filled by Load
	FallbackModels    []string `json:"fallback_models"` // tried in order when Model fails for good
	MaxToolIterations int      `json:"max_tool_iterations"`
	MaxParallelTools  int      `json:"max_parallel_tools"`
}

// Gateway is the HTTP and WebSocket server.
type Gateway struct {
	Addr                     string   `json:"addr"`                        // host:port, port 0 = a free one
	Token                    Secret   `json:"token"`                       // "" = the generated one of the home
	AllowedOrigins           []string `json:"allowed_origins"`             // scheme://host[:port]
	AgentPromptReinjectEvery int      `json:"agent_prompt_reinject_every"` // user turns, 0 = never again
	MaxMessageBytes          int      `json:"max_message_bytes"`           // of one WebSocket frame or request body
}

// Temporal says which Temporal server is used.
type Temporal struct {
	Mode          string `json:"mode"`    // TemporalEmbedded or TemporalExternal
	Address       string `json:"address"` // host:port; embedded: where it listens
	Namespace     string `json:"namespace"`
	TaskQueue     string `json:"task_queue"`
	APIKey        Secret `json:"api_key"`
	TLS           TLS    `json:"tls"`
	UIAddr        string `json:"ui_addr"` // host:port of the web UI; of an external one also its http(s) URL
	RetentionDays int    `json:"retention_days"`
	Summaries     bool   `json:"summaries"` // short contents in the Temporal UI
}

// TLS secures the connection to an external Temporal. Files are absolute after Load.
type TLS struct {
	Enabled    bool   `json:"enabled"`
	ServerName string `json:"server_name"`
	CAFile     string `json:"ca_file"`
	CertFile   string `json:"cert_file"`
	KeyFile    string `json:"key_file"`
}

// Worker limits what runs at once in one worker process.
type Worker struct {
	MaxModelCalls int `json:"max_model_calls"`
	MaxToolCalls  int `json:"max_tool_calls"`
	MaxDeliveries int `json:"max_deliveries"`
}

// Session says how long dialogs live and when they are compacted.
type Session struct {
	TTLHours                int     `json:"ttl_hours"`                // silence after which OnExpiry applies, 0 = never
	OnExpiry                string  `json:"on_expiry"`                // ExpiryKeep or ExpiryNewDialog
	RetentionDays           int     `json:"retention_days"`           // 0 = soft-deleted sessions are kept
	CleanupIntervalMinutes  int     `json:"cleanup_interval_minutes"` //
	AutoTitleAfterNMessages int     `json:"auto_title_after_n_messages"`
	StorageRetryDelaysMS    []int   `json:"storage_retry_delays_ms"` // see Session.StorageRetryDelays
	CompactionThreshold     float64 `json:"compaction_threshold"`    // share of the context window, (0, 1]
	CompactionKeepTurns     int     `json:"compaction_keep_turns"`   // newest user turns that are never summarised
}

// Channels are the ways in besides the terminal.
type Channels struct {
	Feishu Feishu `json:"feishu"`
}

// Feishu is the Feishu (or Lark) channel.
type Feishu struct {
	Enabled        bool     `json:"enabled"`
	AppID          string   `json:"app_id"`
	AppSecret      Secret   `json:"app_secret"`
	Domain         string   `json:"domain"`          // "feishu", "lark" or a base URL
	AllowFrom      []string `json:"allow_from"`      // empty = nobody, "*" = everyone
	RequireMention bool     `json:"require_mention"` // in groups
	Agent          string   `json:"agent"`           // key of Config.Agents
	ReplyInThread  bool     `json:"reply_in_thread"`
}

// Memory is long-term memory.
type Memory struct {
	MaintenanceEnabled bool `json:"maintenance_enabled"`
}

// Skills says where skills are found and how much of the prompt they may take.
type Skills struct {
	Enabled         bool     `json:"enabled"`
	Sources         []string `json:"sources"` // a later one overrides an earlier one
	MaxIndexChars   int      `json:"max_index_chars"`
	MaxListedSkills int      `json:"max_listed_skills"`
}

// Tools limits the tools of the agent.
type Tools struct {
	Disabled       []string  `json:"disabled"` // names of tools
	Bash           Bash      `json:"bash"`
	HTTP           HTTPTools `json:"http"`
	Files          FileTools `json:"files"`
	MaxResultChars int       `json:"max_result_chars"` // longer results are cut for the model
}

// Bash limits the bash tool.
type Bash struct {
	TimeoutSeconds    int      `json:"timeout_seconds"`     // when the model asks for none
	MaxTimeoutSeconds int      `json:"max_timeout_seconds"` // that the model may ask for
	EnvAllow          []string `json:"env_allow"`           // environment variables handed on
	AllowUnconfined   bool     `json:"allow_unconfined"`    // run where the kernel cannot confine it
}

// HTTPTools limits http_request and web_fetch.
type HTTPTools struct {
	AllowPrivateNetworks bool `json:"allow_private_networks"`
	TimeoutSeconds       int  `json:"timeout_seconds"`
	MaxBytes             int  `json:"max_bytes"` // of one response
}

// FileTools limits file_read, file_write and file_edit.
type FileTools struct {
	RestrictToWorkspace bool `json:"restrict_to_workspace"`
}

// Scheduler is the default of all jobs, and the jobs of the file.
type Scheduler struct {
	Enabled             bool              `json:"enabled"`
	MisfirePolicy       string            `json:"misfire_policy"`        // MisfireSkip, MisfireRunOnce or MisfireRunAll
	MisfireGraceSeconds int               `json:"misfire_grace_seconds"` // 0 = half the period, at most 300
	RunTimeoutSeconds   int               `json:"run_timeout_seconds"`
	TickResolutionMS    int               `json:"tick_resolution_ms"` // accepted, without effect
	AllowFromJobs       bool              `json:"allow_from_jobs"`    // jobs may create jobs
	Jobs                []json.RawMessage `json:"jobs"`               // each one JSON object; see Config.Jobs
}
