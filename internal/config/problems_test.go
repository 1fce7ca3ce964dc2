package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/config"
)

// models is a valid configuration of models to build wrong ones on.
const models = `"providers": {"p": {"api_key": "k"}}, "models": {"m": {"provider": "p"}}`

func TestProblemsNameTheirPathAndSayWhatToDo(t *testing.T) {
	for _, tt := range []struct {
		name, text, path, message string
	}{
		{"not JSON", `{"locale" "en"}`, "", `not valid JSON: line 1, column 11: invalid character '"' after object name`},
		{"cut short", `{"locale": "en"`, "", "not valid JSON: line 2, column 1: parsing object after value: unexpected EOF"},
		{"empty", "", "", "not valid JSON: line 2, column 1: parsing value: unexpected EOF"},
		{"forgotten quotes", "{\n\"locale\": sk123}", "", `not valid JSON: line 2, column 11: not a JSON value (is a quote missing, or a \ not doubled?)`},
		{"a list", `[]`, "", "the file must hold one JSON object, not a list"},
		{"not UTF-8", "{\"locale\": \"\xff\"}", "", "the file is not UTF-8 text; save it as UTF-8"},
		{"too deep", `{"a":` + strings.Repeat("[", 5000), "", "values are nested more than 64 deep; flatten them"},
		{"too large", `{"locale": "` + strings.Repeat("x", 1<<20), "", "the file is larger than 1048576 bytes; a configuration must be smaller"},

		{"unknown section", `{"gatway": {}}`, "gatway", `unknown key; did you mean "gateway"?`},
		{"other case", `{"Gateway": {}}`, "Gateway", `unknown key; did you mean "gateway"?`},
		{"swapped letters", `{"memory": {"maintenance_enbaled": true}}`, "memory.maintenance_enbaled", `unknown key; did you mean "maintenance_enabled"?`},
		{"key of another section", `{"max_message_bytes": 1}`, "max_message_bytes", "unknown key; it belongs at gateway.max_message_bytes"},
		{"key of entries", `{"context_window_tokens": 1}`, "context_window_tokens", "unknown key; it belongs at models.NAME.context_window_tokens"},
		{"like nothing", `{"memory": {"x": true}}`, "memory.x", `unknown key; known are "maintenance_enabled"`},
		{"inside a named entry", `{` + models + `, "agents": {"default": {"modle": "m"}}}`, "agents.default.modle", `unknown key; did you mean "model"?`},
		{"inside a provider", `{"providers": {"offline": {"type": "offline", "apikey": ""}}}`, "providers.offline.apikey", `unknown key; did you mean "api_key"?`},
		{"twice", `{"locale": "en", "locale": "zh-CN"}`, "locale", "this key stands here twice; keep one"},
		{"twice in a job", `{"scheduler": {"jobs": [{"id": "a", "id": "b"}]}}`, "scheduler.jobs[0].id", "this key stands here twice; keep one"},
		{"twice by an escape", `{"locale": "en", "l\u006fcale": "en"}`, "locale", "this key stands here twice; keep one"},

		{"text for a number", `{"session": {"ttl_hours": "24"}}`, "session.ttl_hours", "must be a whole number, not a string"},
		{"fraction", `{"session": {"ttl_hours": 1.5}}`, "session.ttl_hours", "must be a whole number, not 1.5"},
		{"huge number", `{"session": {"ttl_hours": 1e99}}`, "session.ttl_hours", "must be a whole number, not 1e99"},
		{"too large a fraction", `{"session": {"compaction_threshold": 1e999}}`, "session.compaction_threshold", "must be a number that fits, not 1e999"},
		{"number for a text", `{"locale": 1}`, "locale", "must be a string, not a number"},
		{"null", `{"locale": null}`, "locale", "must be a string, not null"},
		{"text for a boolean", `{"memory": {"maintenance_enabled": "yes"}}`, "memory.maintenance_enabled", "must be true or false, not a string"},
		{"object for a list", `{"tools": {"disabled": {}}}`, "tools.disabled", "must be a list, not an object"},
		{"wrong item", `{"tools": {"disabled": ["bash", true]}}`, "tools.disabled[1]", "must be a string, not a boolean"},
		{"list for a section", `{"gateway": []}`, "gateway", "must be an object, not a list"},
		{"list for entries", `{"providers": []}`, "providers", "must be an object, not a list"},
		{"text for an entry", `{` + models + `, "agents": {"a": "m"}}`, "agents.a", "must be an object, not a string"},
		{"text for a temperature", `{"providers": {"p": {"api_key": "k"}}, "models": {"m": {"provider": "p", "temperature": "hot"}}}`, "models.m.temperature", "must be a number, not a string"},
		{"text for a job", `{"scheduler": {"jobs": ["daily"]}}`, "scheduler.jobs[0]", "must be an object, not a string"},
		{"nameless entry", `{` + models + `, "agents": {"": {}}}`, `agents[""]`, "a name here must be visible text without control characters"},

		{"locale", `{"locale": "zh-cn"}`, "locale", `"zh-cn" is none of "en", "zh-CN"; did you mean "zh-CN"?`},
		{"zone", `{"time_zone": "Mars/Base"}`, "time_zone", `there is no time zone "Mars/Base"; use an IANA name such as "Asia/Shanghai", or "Local"`},
		{"zone as a path", `{"time_zone": "../zone"}`, "time_zone", `there is no time zone "../zone"; use an IANA name such as "Asia/Shanghai", or "Local"`},
		{"empty zone", `{"time_zone": ""}`, "time_zone", `must be an IANA name such as "Asia/Shanghai", or "Local"`},
		{"reasoning", `{"providers": {"p": {"api_key": "k"}}, "models": {"m": {"provider": "p", "reasoning": "no"}}}`, "models.m.reasoning", `must be one of "auto", "echo", "drop", not "no"`},
		{"expiry", `{"session": {"on_expiry": "new-dialog"}}`, "session.on_expiry", `"new-dialog" is none of "keep", "new_dialog"; did you mean "new_dialog"?`},
		{"misfire policy", `{"scheduler": {"misfire_policy": "all"}}`, "scheduler.misfire_policy", `must be one of "skip", "run_once", "run_all", not "all"`},
		{"mode", `{"temporal": {"mode": "cloud"}}`, "temporal.mode", `must be one of "embedded", "external", not "cloud"`},
		{"skill source", `{"skills": {"sources": ["user", "usr_agent"]}}`, "skills.sources[1]", `"usr_agent" is none of "user", "user_agent", "project", "project_agent"; did you mean "user_agent"?`},
		{"skill source twice", `{"skills": {"sources": ["user", "user"]}}`, "skills.sources[1]", "this source stands here twice; keep one"},
		{"tool", `{"tools": {"disabled": ["bsh"]}}`, "tools.disabled[0]", `there is no tool "bsh"; did you mean "bash"?`},

		{"below the range", `{"worker": {"max_tool_calls": 0}}`, "worker.max_tool_calls", "must be from 1 to 10000, not 0"},
		{"above the range", `{"temporal": {"retention_days": 100000}}`, "temporal.retention_days", "must be from 1 to 36500, not 100000"},
		{"negative", `{"session": {"storage_retry_delays_ms": [100, -1]}}`, "session.storage_retry_delays_ms[1]", "must be from 0 to 60000, not -1"},
		{"too many retries", `{"session": {"storage_retry_delays_ms": [` + strings.Repeat("1,", 21) + `]}}`, "session.storage_retry_delays_ms", "must list at most 20 delays"},
		{"threshold", `{"session": {"compaction_threshold": 1.01}}`, "session.compaction_threshold", "must be above 0 and at most 1: a share of the context window"},
		{"temperature", `{"providers": {"p": {"api_key": "k"}}, "models": {"m": {"provider": "p", "temperature": 2.1}}}`, "models.m.temperature", "must be from 0 to 2, or null for the provider's default"},
		{"timeouts crossed", `{"tools": {"bash": {"timeout_seconds": 5000}}}`, "tools.bash.timeout_seconds", "must not be above tools.bash.max_timeout_seconds (3600)"},
		{"variable name", `{"tools": {"bash": {"env_allow": ["A=B"]}}}`, "tools.bash.env_allow[0]", "must be the name of one environment variable"},

		{"no port", `{"gateway": {"addr": "127.0.0.1"}}`, "gateway.addr", `must be HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:19876, not "127.0.0.1"`},
		{"port too high", `{"gateway": {"addr": "127.0.0.1:70000"}}`, "gateway.addr", `must be HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:19876, not "127.0.0.1:70000"`},
		{"a URL", `{"temporal": {"address": "http://localhost:7233"}}`, "temporal.address", `must be HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:19876, not "http://localhost:7233"`},
		{"every interface without token", `{"gateway": {"addr": ":19876"}}`, "gateway.token", `set a token: gateway.addr ":19876" can be reached from other machines`},
		{"another host without token", `{"gateway": {"addr": "box.lan:19876"}}`, "gateway.token", `set a token: gateway.addr "box.lan:19876" can be reached from other machines`},
		{"token with spaces", `{"gateway": {"token": "a b"}}`, "gateway.token", "must be printable ASCII without spaces"},
		{"origin with path", `{"gateway": {"allowed_origins": ["https://a.example/"]}}`, "gateway.allowed_origins[0]", "must be one origin, scheme://host or scheme://host:port, such as https://chat.example.com"},
		{"any origin", `{"gateway": {"allowed_origins": ["*"]}}`, "gateway.allowed_origins[0]", "must be one origin, scheme://host or scheme://host:port, such as https://chat.example.com"},
		{"embedded server for all", `{"temporal": {"address": "0.0.0.0:7233"}}`, "temporal.address", "the embedded server has no login: listen on loopback, such as 127.0.0.1:7233"},
		{"embedded UI for all", `{"temporal": {"ui_addr": "[::]:8233"}}`, "temporal.ui_addr", "the embedded server has no login: listen on loopback, such as 127.0.0.1:8233"},
		{"external without host", `{"temporal": {"mode": "external", "address": ":7233"}}`, "temporal.address", "name the host of the external server"},
		{"external without port", `{"temporal": {"mode": "external", "address": "t.example:0"}}`, "temporal.address", "name the port of the external server"},
		{"namespace", `{"temporal": {"namespace": " "}}`, "temporal.namespace", "must not be empty"},
		{"task queue", `{"temporal": {"task_queue": "a\nb"}}`, "temporal.task_queue", "must be at most 200 bytes of visible text"},
		{"half a certificate", `{"temporal": {"tls": {"cert_file": "c.pem"}}}`, "temporal.tls.key_file", "name the key that belongs to cert_file"},
		{"the other half", `{"temporal": {"tls": {"key_file": "c.pem"}}}`, "temporal.tls.cert_file", "name the certificate that belongs to key_file"},
		{"null character in a path", `{"workspace": "a\u0000b"}`, "workspace", "a path cannot hold a null character"},

		{"base URL", `{"providers": {"p": {"base_url": "api.example.com/v1"}}, "models": {"m": {"provider": "p"}}}`, "providers.p.base_url", "must be an http or https address without query, such as https://api.openai.com/v1"},
		{"provider type", `{"providers": {"p": {"type": "opnai"}}, "models": {"m": {"provider": "p"}}}`, "providers.p.type", `"opnai" is none of "openai", "anthropic", "offline"; did you mean "openai"?`},
		{"key with a newline", `{"providers": {"p": {"api_key": "k\n"}}, "models": {"m": {"provider": "p"}}}`, "providers.p.api_key", "must be printable ASCII without spaces; was something pasted along with it?"},
		{"header name", `{"providers": {"p": {"headers": {"a b": "c"}}}, "models": {"m": {"provider": "p"}}}`, `providers.p.headers["a b"]`, "is no valid name of an HTTP header"},
		{"header value", `{"providers": {"p": {"headers": {"X-A": "c\r\nX-B: d"}}}, "models": {"m": {"provider": "p"}}}`, "providers.p.headers.X-A", "the value of an HTTP header must be one line without control characters"},

		{"no such provider", `{"providers": {"openrouter": {"api_key": "k"}}, "models": {"gpt": {"provider": "openruoter"}}}`, "models.gpt.provider", `there is no provider "openruoter"; did you mean "openrouter"?`},
		{"no provider at all", `{"models": {"gpt": {"provider": "openai"}}}`, "models.gpt.provider", `there is no provider "openai"; add it to providers, or set OPENAI_API_KEY or ANTHROPIC_API_KEY`},
		{"provider not said", `{"providers": {"a": {"api_key": "k"}, "b": {"api_key": "k"}}, "models": {"gpt": {}}}`, "models.gpt.provider", `name the provider that serves this model; known are "a", "b"`},
		{"name with a dot", `{"providers": {"p": {"api_key": "k"}}, "models": {"gpt-4.1": {"provider": "q"}}}`, `models["gpt-4.1"].provider`, `there is no provider "q"; known are "p"`},
		{"no models", `{"providers": {"p": {"api_key": "k"}}}`, "models", `add a model, such as {"main": {"provider": "p", "model": "ID OF THE MODEL"}}`},
		{"several models, none chosen", `{"providers": {"p": {"api_key": "k"}}, "models": {"b": {"provider": "p"}, "a": {"provider": "p"}}}`, "agents.default.model", `name the model that answers; configured are "a", "b"`},
		{"no such model", `{` + models + `, "agents": {"x": {"model": "mm"}}}`, "agents.x.model", `there is no model "mm"; did you mean "m"?`},
		{"no such fallback", `{` + models + `, "agents": {"default": {"fallback_models": ["m", "gpt"]}}}`, "agents.default.fallback_models[1]", `there is no model "gpt"; known are "m"`},
		{"no such agent", `{"channels": {"feishu": {"agent": "defualt"}}}`, "channels.feishu.agent", `there is no agent "defualt"; did you mean "default"?`},

		{"feishu domain", `{"channels": {"feishu": {"domain": "feishu.cn"}}}`, "channels.feishu.domain", `must be "feishu", "lark" or an http or https address without query`},
		{"feishu without secret", `{"channels": {"feishu": {"enabled": true, "app_id": "a"}}}`, "channels.feishu.app_secret", "set the secret of the app, or channels.feishu.enabled to false"},
		{"feishu without id", `{"channels": {"feishu": {"enabled": true, "app_secret": "a"}}}`, "channels.feishu.app_id", "set the id of the app, or channels.feishu.enabled to false"},
		{"feishu person", `{"channels": {"feishu": {"allow_from": ["ou_1 "]}}}`, "channels.feishu.allow_from[0]", `must be the id of a person without spaces, or "*" for everyone`},

		{"missing variable", `{"gateway": {"token": "${TOKEN}"}}`, "gateway.token", "environment variable TOKEN is not set; set it or write ${TOKEN:-default}"},
		{"missing variable in a list", `{"channels": {"feishu": {"allow_from": ["a", "${WHO}"]}}}`, "channels.feishu.allow_from[1]", "environment variable WHO is not set; set it or write ${WHO:-default}"},
		{"missing variable in a job", `{"scheduler": {"jobs": [{"payload": {"prompt": "hi ${WHO}"}}]}}`, "scheduler.jobs[0].payload.prompt", "environment variable WHO is not set; set it or write ${WHO:-default}"},
		{"open reference", `{"workspace": "${HOME"}`, "workspace", "${ must begin ${NAME} or ${NAME:-default}; write $${ where ${ itself is meant"},
		{"bad reference", `{"workspace": "${a-b}"}`, "workspace", "${ must begin ${NAME} or ${NAME:-default}; write $${ where ${ itself is meant"},
		{"nested reference", `{"workspace": "${A:-${B}}"}`, "workspace", "the default of ${A:-...} cannot hold another ${...}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, []config.Problem{{Path: tt.path, Message: tt.message}}, problemsOf(t, tt.text))
		})
	}
}

func TestOneMistakeIsOneProblem(t *testing.T) {
	for name, text := range map[string]string{
		"an unreadable section is not also incomplete":    `{"providers": 5, "models": {"m": {"provider": "p"}}}`,
		"an unreadable entry is not also incomplete":      `{"providers": {"p": {"api_key": "k"}}, "models": {"m": 5}}`,
		"an unreadable model list is not also empty":      `{"providers": {"p": {"api_key": "k"}}, "models": 5, "agents": {"default": {"model": "m"}}}`,
		"a missing token variable is not a missing token": `{"gateway": {"addr": "0.0.0.0:1", "token": "${TOKEN}"}}`,
		"an unreadable agent still exists":                `{"agents": {"a": 1}, "channels": {"feishu": {"agent": "a"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			require.Len(t, problemsOf(t, text), 1)
		})
	}
}

func TestValidEdgesAreAccepted(t *testing.T) {
	for name, text := range map[string]string{
		"a free port":             `{"gateway": {"addr": "127.0.0.1:0"}, "temporal": {"address": "localhost:0", "ui_addr": "[::1]:0"}}`,
		"the whole of loopback":   `{"gateway": {"addr": "127.8.9.10:1"}}`,
		"a mapped loopback":       `{"gateway": {"addr": "[::ffff:127.0.0.1]:1"}}`,
		"everywhere with a token": `{"gateway": {"addr": "0.0.0.0:1", "token": "0123456789abcdef"}}`,
		"an external UI":          `{"temporal": {"mode": "external", "ui_addr": "https://temporal.example.com/ui"}}`,
		"an external server":      `{"temporal": {"mode": "external", "address": "temporal.example.com:7233"}}`,
		"whole numbers as floats": `{"session": {"ttl_hours": 2.0, "cleanup_interval_minutes": 1e2}}`,
		"a base URL as domain":    `{"channels": {"feishu": {"domain": "http://127.0.0.1:8080"}}}`,
		"origins with ports":      `{"gateway": {"allowed_origins": ["http://localhost:3000", "https://chat.example.com"]}}`,
		"zero where it means off": `{"session": {"auto_title_after_n_messages": 0, "ttl_hours": 0}, "gateway": {"agent_prompt_reinject_every": 0}}`,
	} {
		t.Run(name, func(t *testing.T) { mustLoad(t, text) })
	}
}

func TestMessagesNeverRepeatSecretsOrLongValues(t *testing.T) {
	long := strings.Repeat("z", 5000)
	for _, text := range []string{
		`{"locale": "` + long + `"}`, `{"` + long + `": 1}`, `{"session": {"ttl_hours": 1.` + strings.Repeat("1", 5000) + `}}`,
		`{"workspace": "${` + long + `}"}`, `{"locale": ` + long + `}`, `{"gateway": {"addr": "` + long + `"}}`,
		`{"scheduler": {"jobs": [{"` + long + `": "${X}"}]}}`,
	} {
		_, err := load(t, text)
		require.Error(t, err)
		require.Less(t, len(err.Error()), 700)
	}
	for _, text := range []string{
		`{"providers": {"p": {"api_key": hunter2}}}`,
		`{"providers": {"p": {"api_key": "hunter2 "}}}`,
		`{"providers": {"p": {"base_url": "https://u:hunter2@h/?a"}}}`,
		`{"providers": {"p": {"headers": {"X": "hunter2\n"}}}}`,
		`{"gateway": {"token": "hunter2 x"}}`,
	} {
		_, err := load(t, text)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
