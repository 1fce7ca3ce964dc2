package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"picobot/internal/skills"
)

//go:embed skill_manage.md
var skillManageDescription string

type skillManageArgs struct {
	Action      string   `json:"action" jsonschema:"what to do"`
	Name        string   `json:"name,omitempty" jsonschema:"name of the skill: letters, digits and -"`
	Names       []string `json:"names,omitempty" jsonschema:"names of several skills, for disable and enable"`
	Scope       string   `json:"scope,omitempty" jsonschema:"whose skills; default project"`
	Description string   `json:"description,omitempty" jsonschema:"what it does and when to use it, in one sentence"`
	Content     string   `json:"content,omitempty" jsonschema:"the instructions, in Markdown"`
}

const maxManagedNames = 200 // in one call

// SkillManage is the tool skill_manage. What changes files acts outside the record: it
// runs at most once, and a process killed meanwhile leaves each file as it was or as
// it was to be. What only looks may run again.
func SkillManage(library *skills.Library) Tool {
	m := skillManager{library}
	return New(Spec[skillManageArgs]{
		Name:        "skill_manage",
		Description: skillManageDescription,
		Effect:      Outside,
		EffectOf: func(a skillManageArgs) Effect {
			switch a.Action {
			case "list", "get", "reload":
				return ReadOnly
			}
			return Outside
		},
		Summary: func(a skillManageArgs) string {
			return strings.TrimSpace(a.Action + " " + strings.Join(a.all(), ", "))
		},
		Refine: func(s *jsonschema.Schema) {
			s.Properties["action"].Enum = []any{"list", "get", "create", "update", "delete", "disable", "enable", "reload"}
			s.Properties["scope"].Enum = []any{string(skills.Project), string(skills.User)}
			s.Properties["names"].MaxItems = jsonschema.Ptr(maxManagedNames)
		},
	}, m.run)
}

// all are the skills a call names, each once.
func (a skillManageArgs) all() []string {
	var all []string
	seen := map[string]bool{"": true}
	for _, name := range append([]string{a.Name}, a.Names...) {
		if !seen[name] {
			seen[name] = true
			all = append(all, name)
		}
	}
	return all
}

func (a skillManageArgs) scope() skills.Scope {
	if a.Scope == "" {
		return skills.Project
	}
	return skills.Scope(a.Scope)
}

type skillManager struct{ library *skills.Library }

func (m skillManager) run(ctx context.Context, call Call, a skillManageArgs) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	by := skills.Change{SessionID: call.SessionID}
	switch a.Action {
	case "list":
		return m.list(m.library.Snapshot(ctx)), nil
	case "reload":
		return "read again.\n" + m.list(m.library.Reload(ctx)), nil
	case "disable", "enable":
		return m.onOrOff(ctx, by, a)
	}
	if a.Name == "" {
		return "", fmt.Errorf("%s needs the skill's name", a.Action)
	}
	if len(a.Names) > 0 {
		return "", fmt.Errorf("%s takes one skill, in name; names is for disable and enable", a.Action)
	}
	switch a.Action {
	case "get":
		return m.get(ctx, a.Name)
	case "create":
		k, err := m.library.Create(ctx, by, a.scope(), a.Name, a.Description, a.Content)
		if err != nil {
			return "", err
		}
		return m.written(ctx, "created", k), nil
	case "update":
		k, err := m.library.Update(ctx, by, a.scope(), a.Name, a.Description, a.Content)
		if err != nil {
			return "", m.lost(ctx, a.Name, err)
		}
		return m.written(ctx, "updated", k), nil
	case "delete":
		if err := m.library.Delete(ctx, by, a.scope(), a.Name); err != nil {
			return "", m.lost(ctx, a.Name, err)
		}
		result := fmt.Sprintf("deleted the %s skill %s", a.scope(), a.Name)
		if k, ok := m.library.Snapshot(ctx).Find(a.Name); ok {
			result += fmt.Sprintf("; the one of %s (%s) counts now", k.Source, k.Path)
		}
		return result, nil
	}
	return "", fmt.Errorf("unknown action %s", quote(a.Action)) // the schema has refused it
}

// lost names the skills there are when one was not found.
func (m skillManager) lost(ctx context.Context, name string, err error) error {
	return noSkill(m.library.Snapshot(ctx), name, err)
}

// written says where a skill is, and when another one counts all the same.
func (m skillManager) written(ctx context.Context, what string, k skills.Skill) string {
	result := fmt.Sprintf("%s the %s skill %s in %s", what, k.Scope, k.Name, k.Path)
	if used, ok := m.library.Snapshot(ctx).Find(k.Name); ok && used.Path != k.Path {
		return result + fmt.Sprintf(". But the one of %s (%s) overrides it.", used.Source, used.Path)
	}
	if k.Disabled {
		return result + ". It is switched off: enable it before it can be used."
	}
	return result + ". It can be used from now on."
}

func (m skillManager) get(ctx context.Context, name string) (string, error) {
	got, err := m.library.Show(ctx, name)
	if err != nil {
		return "", m.lost(ctx, name, err)
	}
	k := got.Skill
	head := fmt.Sprintf("Description: %s\nSource: %s (scope %s)\n", k.Description, k.Source, k.Scope)
	if k.Disabled {
		head += "Switched off.\n"
	}
	if len(k.Overrides) > 0 {
		head += "Overrides that of " + strings.Join(k.Overrides, ", ") + ".\n"
	}
	return head + activation(got), nil
}

func (m skillManager) onOrOff(ctx context.Context, by skills.Change, a skillManageArgs) (string, error) {
	names := a.all()
	if len(names) == 0 {
		return "", fmt.Errorf("%s needs the skill's name, or names for several", a.Action)
	}
	if a.Action == "disable" {
		changed, err := m.library.Disable(ctx, by, a.scope(), names)
		if err != nil {
			return "", err
		}
		return changes("switched off", "switched off already", changed, names), nil
	}
	changed, err := m.library.Enable(ctx, by, skills.Scope(a.Scope), names)
	if err != nil {
		return "", err
	}
	snap := m.library.Snapshot(ctx)
	result := changes("switched on", "not switched off", changed, without(names, func(name string) bool { return len(snap.DisabledBy(name)) > 0 }))
	for _, name := range names {
		for _, scope := range snap.DisabledBy(name) {
			result += fmt.Sprintf("%s is switched off by the %s's state file still: enable it with scope %s.\n", name, scope, scope)
		}
	}
	return strings.TrimSpace(result), nil
}

// changes says what became of each of the names.
func changes(did, was string, changed, names []string) string {
	isChanged := map[string]bool{}
	for _, name := range changed {
		isChanged[name] = true
	}
	var b strings.Builder
	if len(changed) > 0 {
		fmt.Fprintf(&b, "%s: %s\n", did, strings.Join(changed, ", "))
	}
	if rest := without(names, func(name string) bool { return isChanged[name] }); len(rest) > 0 {
		fmt.Fprintf(&b, "%s: %s\n", was, strings.Join(rest, ", "))
	}
	return b.String()
}

func without(names []string, drop func(string) bool) []string {
	var rest []string
	for _, name := range names {
		if !drop(name) {
			rest = append(rest, name)
		}
	}
	return rest
}

// list shows everything that is known.
func (m skillManager) list(snap *skills.Snapshot) string {
	var b strings.Builder
	for _, k := range snap.Skills() {
		state := ""
		if k.Disabled {
			state = ", switched off"
		}
		fmt.Fprintf(&b, "%s [%s, scope %s%s]\n", skillLine(k), k.Source, k.Scope, state)
	}
	if b.Len() == 0 {
		b.WriteString("There are no skills.\n")
	}
	if skipped := snap.Skipped(); len(skipped) > 0 {
		b.WriteString("Not usable:\n")
		for _, p := range skipped {
			fmt.Fprintf(&b, "- %s (%s): %s\n", p.Name, p.Source, p.Message)
		}
	}
	return b.String()
}
