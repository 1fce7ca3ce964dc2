package offline

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode"

	"picobot/internal/chat"
)

// call is a tool call that a command stands for.
type call struct {
	name      string
	arguments string
}

// command is what a message asks for: at most one of its fields is set, and none
// in a message that is no command.
type command struct {
	calls []call         // these, in parallel
	loop  int            // so many calls of get_time, one after the other
	slow  *time.Duration // an answer that takes so long
	fail  int            // an error with this HTTP status
}

// Limits of what a command may ask for. What is beyond them is no command.
const (
	maxLoop    = 100_000
	maxSlow    = 24 * time.Hour
	maxSeconds = 100 * 365 * 24 * 3600
)

// parse reads a message. A malformed command is no command.
func parse(text string) command {
	word, rest := cutWord(text)
	switch word {
	case "tools":
		return command{calls: parseTools(rest)}
	case "loop":
		if n, ok := parseCount(rest, maxLoop); ok {
			return command{loop: n}
		}
		return command{}
	case "slow":
		if d, ok := parseSeconds(rest); ok {
			return command{slow: &d}
		}
		return command{}
	case "fail":
		if n, ok := parseCount(rest, 599); ok && n >= 400 {
			return command{fail: n}
		}
		return command{}
	}
	if c, ok := parseCall(text); ok {
		return command{calls: []call{c}}
	}
	return command{}
}

// parseTools reads commands that are separated by semicolons. One that is no tool
// call makes the whole no command.
func parseTools(list string) []call {
	var calls []call
	for part := range strings.SplitSeq(list, ";") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		c, ok := parseCall(part)
		if !ok {
			return nil
		}
		calls = append(calls, c)
	}
	return calls
}

// parseCall reads a command that stands for one tool call.
func parseCall(text string) (call, bool) {
	word, rest := cutWord(text)
	if word == "time" {
		return newCall("get_time", object{}), rest == ""
	}
	if rest == "" {
		return call{}, false
	}
	switch word {
	case "calc":
		return newCall("calculator", object{"expression": rest}), true
	case "read":
		return newCall("file_read", object{"path": rest}), true
	case "write":
		path, content := cutWord(rest)
		return newCall("file_write", object{"path": path, "content": content}), content != ""
	case "run":
		return newCall("bash", object{"command": rest}), true
	case "fetch":
		return newCall("web_fetch", object{"url": rest}), !strings.ContainsFunc(rest, unicode.IsSpace)
	case "remember":
		key, content, _ := strings.Cut(rest, "=")
		key, content = strings.TrimSpace(key), strings.TrimSpace(content)
		return newCall("memory_manage", object{"action": "put", "namespace": "notes", "key": key, "content": content}),
			key != "" && content != ""
	case "recall":
		return newCall("memory_search", object{"action": "search", "query": rest}), true
	case "in":
		return parseJob("delay", text, rest)
	case "every":
		return parseJob("interval", text, rest)
	}
	return call{}, false
}

// parseJob reads "10s say TEXT". The job has no target: the turn that puts it
// gives it the chat.
func parseJob(schedule, text, rest string) (call, bool) {
	wait, rest := cutWord(rest)
	say, content := cutWord(rest)
	seconds, ok := parseDuration(wait)
	if !ok || say != "say" || content == "" {
		return call{}, false
	}
	sum := sha256.Sum256([]byte(text))
	return newCall("scheduler_manage", object{
		"action": "put",
		"job": object{
			"id":       "agent.say_" + hex.EncodeToString(sum[:4]),
			"kind":     "outbound_message",
			"schedule": object{"type": schedule, "seconds": seconds},
			"payload":  object{"content": content},
		},
	}), true
}

type object = map[string]any

func newCall(name string, arguments object) call {
	// Strings and numbers always marshal, and keys come out sorted.
	raw, _ := json.Marshal(arguments)
	return call{name: name, arguments: string(raw)}
}

// cutWord splits off the first word. The rest keeps the spaces inside it.
func cutWord(s string) (word, rest string) {
	i := strings.IndexFunc(s, unicode.IsSpace)
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// parseCount reads a whole number from 1 to limit.
func parseCount(s string, limit int) (int, bool) {
	if !isDigits(s) {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 1 && n <= limit
}

// parseDuration reads whole seconds, minutes or hours: 10s, 5m, 2h.
func parseDuration(s string) (seconds int, ok bool) {
	if s == "" {
		return 0, false
	}
	units := map[byte]int{'s': 1, 'm': 60, 'h': 3600}
	unit, ok := units[s[len(s)-1]]
	if !ok {
		return 0, false
	}
	n, ok := parseCount(s[:len(s)-1], maxSeconds/unit)
	return n * unit, ok
}

// parseSeconds reads seconds with an optional fraction.
func parseSeconds(s string) (time.Duration, bool) {
	whole, fraction, dotted := strings.Cut(s, ".")
	if !isDigits(whole) || (dotted && !isDigits(fraction)) {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n > maxSlow.Seconds() {
		return 0, false
	}
	return time.Duration(n * float64(time.Second)), true
}

// toolCalls numbers calls from after the results that the turn already has, so that
// ids differ within a turn, too.
func toolCalls(calls []call, after int) []chat.ToolCall {
	out := make([]chat.ToolCall, len(calls))
	for i, c := range calls {
		out[i] = chat.NewToolCall("call_"+strconv.Itoa(after+i+1), c.name, c.arguments)
	}
	return out
}
