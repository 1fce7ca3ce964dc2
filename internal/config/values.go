package config

// DefaultAgent is the agent that answers when nobody names another.
const DefaultAgent = "default"

// OfflineName names the built-in offline provider and its model. Both exist
// whenever something refers to them, without being configured.
const OfflineName = "offline"

// Values of locale.
const (
	LocaleEnglish = "en"
	LocaleChinese = "zh-CN"
)

// Values of providers.X.type.
const (
	ProviderOpenAI    = "openai"
	ProviderAnthropic = "anthropic"
	ProviderOffline   = "offline"
)

// Values of models.X.reasoning: what happens to the reasoning of earlier answers
// in a request.
const (
	ReasoningAuto = "auto"
	ReasoningEcho = "echo"
	ReasoningDrop = "drop"
)

// Values of temporal.mode.
const (
	TemporalEmbedded = "embedded"
	TemporalExternal = "external"
)

// Values of session.on_expiry.
const (
	ExpiryKeep      = "keep"
	ExpiryNewDialog = "new_dialog"
)

// Values of channels.feishu.domain that are no URL.
const (
	DomainFeishu = "feishu"
	DomainLark   = "lark"
)

// Values of skills.sources.
const (
	SkillsUser         = "user"
	SkillsUserAgent    = "user_agent"
	SkillsProject      = "project"
	SkillsProjectAgent = "project_agent"
)

// Values of scheduler.misfire_policy.
const (
	MisfireSkip    = "skip"
	MisfireRunOnce = "run_once"
	MisfireRunAll  = "run_all"
)

// Endpoints that an empty base_url stands for.
const (
	openAIBaseURL    = "https://api.openai.com/v1"
	anthropicBaseURL = "https://api.anthropic.com"
)

// Models that a provider made from the environment serves unless told otherwise.
const (
	openAIModel    = "gpt-5-mini"
	anthropicModel = "claude-sonnet-5-5"
)

// toolNames are what tools.disabled may name. A misspelt name there would leave a
// tool on that somebody wanted off, so unknown names are problems.
func toolNames() []string {
	return []string{
		"calculator", "get_time", "file_read", "file_write", "file_edit", "memory_search", "memory_manage",
		"session_send", "scheduler_manage", "skill_activate", "skill_list", "skill_manage",
		"bash", "http_request", "web_fetch",
	}
}
