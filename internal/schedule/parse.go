package schedule

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"picobot/internal/nearest"
)

// Rules are what a job is checked against.
type Rules struct {
	Now  time.Time // what an at must be after, and a delay counts from
	Zone string    // of jobs that name none
	ID   string    // of jobs that name none; "" = they must
	// Target is where jobs speak to that name none; nil = they must.
	Target *Target
	// Channels and Agents are the names that there are; none = any.
	Channels []string
	Agents   []string
}

// Bounds of what a job may hold.
const (
	maxJob        = 256 << 10 // bytes of its JSON
	maxID         = 128       // bytes
	maxName       = 512       // bytes of ids of chats and people
	maxText       = 64 << 10  // bytes of a prompt or a content
	maxMetadata   = 16 << 10  // bytes
	maxSeconds    = 100 * 365 * 24 * 3600
	maxTimeout    = 7 * 24 * 3600
	maxIterations = 10_000
)

// shown are the keys that stand beside a job's own where it is shown: what was got can
// be put back.
var shown = []string{"time_zone", "state", "source", "created_by", "origin", "last_run_at", "last_status", "next_run_at", "next_runs", "created_at", "updated_at"}

// Parse reads a job and checks all of it. path is where it stands, such as
// "scheduler.jobs[0]"; "" = nowhere in particular. The job means something only when
// there are no problems; then its schedule names its zone and everything that was
// left out has its default.
func Parse(raw []byte, path string, r Rules) (Job, Problems) {
	p := &parser{rules: r}
	if len(raw) > maxJob {
		p.add(path, "is %d bytes long; a job takes at most %d", len(raw), maxJob)
		return Job{}, p.problems
	}
	j := p.job(p.objectOf(raw, path, []string{"id", "kind", "schedule", "target", "payload", "misfire_policy", "misfire_grace_seconds", "enabled"}, shown))
	return j, p.problems
}

// Problem is one thing that is wrong with a job.
type Problem struct {
	Path    string // "schedule.expression"
	Message string // lower-case sentence that says what to do
}

// Problems are everything that is wrong with a job.
type Problems []Problem

// Error says all of it.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = strings.TrimPrefix(one.Path+": "+one.Message, ": ")
	}
	return strings.Join(lines, "; ")
}

// Err returns nil when nothing is wrong.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

type parser struct {
	rules    Rules
	problems Problems
}

// add notes a problem, the first ones of a path only.
func (p *parser) add(path, format string, args ...any) {
	const most = 20
	if len(p.problems) < most {
		p.problems = append(p.problems, Problem{path, fmt.Sprintf(format, args...)})
	}
}

// noted reports whether there is a problem with a path already.
func (p *parser) noted(path string) bool {
	return slices.ContainsFunc(p.problems, func(one Problem) bool { return one.Path == path })
}

// object is a JSON object whose keys are known.
type object struct {
	p       *parser
	path    string
	members map[string]json.RawMessage
}

func (o object) at(key string) string {
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

func (p *parser) object(raw []byte, path string, known ...string) object {
	return p.objectOf(raw, path, known, nil)
}

// objectOf is object where other keys may stand, too, that nobody needs to know of.
func (p *parser) objectOf(raw []byte, path string, known, others []string) object {
	o := object{p, path, map[string]json.RawMessage{}}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		p.add(path, `must be a JSON object: {"%s": …}`, known[0])
		return o
	}
	for d.More() {
		t, err := d.Token()
		key, _ := t.(string)
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		switch _, twice := o.members[key]; {
		case err != nil:
			p.add(path, "is no valid JSON: %v", err)
			return o
		case twice:
			p.add(o.at(key), "stands here twice; keep one")
		case !slices.Contains(known, key) && !slices.Contains(others, key):
			p.add(o.at(clip(key)), "unknown key; %s", suggest(key, known))
			continue
		}
		o.members[key] = value
	}
	if _, err := d.Token(); err != nil {
		p.add(path, "is no valid JSON: %v", err)
	} else if d.More() {
		p.add(path, "must be one JSON object, with nothing after it")
	}
	return o
}

func suggest(name string, known []string) string {
	if near := nearest.Of(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	quoted := make([]string, len(known))
	for i, k := range known {
		quoted[i] = fmt.Sprintf("%q", k)
	}
	return "known are " + strings.Join(quoted, ", ")
}

// has reports whether a key is there with something else than null.
func (o object) has(key string) bool {
	v, ok := o.members[key]
	return ok && string(v) != "null"
}

// text reads a string; one that is not there is "".
func (o object) text(key string, max int) (s string) {
	if !o.has(key) {
		return ""
	}
	switch err := json.Unmarshal(o.members[key], &s); {
	case err != nil:
		o.p.add(o.at(key), "must be a string")
	case len(s) > max:
		o.p.add(o.at(key), "is %d bytes long, at most %d are taken", len(s), max)
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		o.p.add(o.at(key), "must be text without zero bytes")
	default:
		return s
	}
	return ""
}

// name is text that stands in one line.
func (o object) name(key string) string {
	s := o.text(key, maxName)
	if strings.ContainsFunc(s, unicode.IsControl) {
		o.p.add(o.at(key), "must not hold control characters")
		return ""
	}
	return s
}

// count reads a whole number from 0 to max; one that is not there is 0.
func (o object) count(key string, max int) int {
	if !o.has(key) {
		return 0
	}
	var f float64
	if err := json.Unmarshal(o.members[key], &f); err != nil || f != float64(int64(f)) || f < 0 || f > float64(max) {
		o.p.add(o.at(key), "must be a whole number from 0 to %d", max)
		return 0
	}
	return int(f)
}

func (o object) flag(key string, missing bool) bool {
	if !o.has(key) {
		return missing
	}
	b := missing
	if err := json.Unmarshal(o.members[key], &b); err != nil {
		o.p.add(o.at(key), "must be true or false")
	}
	return b
}

// object reads an object; one that is not there is empty.
func (o object) object(key string, known ...string) object {
	if !o.has(key) {
		return object{o.p, o.at(key), nil}
	}
	return o.p.object(o.members[key], o.at(key), known...)
}

// oneOf reads a word of a list; "" when it is not there or wrong.
func (o object) oneOf(key string, words ...string) string {
	s := o.text(key, maxName)
	if s != "" && !slices.Contains(words, s) {
		o.p.add(o.at(key), "%s is not known; %s", clip(s), suggest(s, words))
		return ""
	}
	return s
}
