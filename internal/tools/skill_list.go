package tools

import (
	"context"
	_ "embed"
	"strings"

	"picobot/internal/skills"
)

//go:embed skill_list.md
var skillListDescription string

type skillListArgs struct{}

// SkillList is the tool skill_list.
func SkillList(library *skills.Library) Tool {
	return New(Spec[skillListArgs]{
		Name:        "skill_list",
		Description: skillListDescription,
		Effect:      ReadOnly,
	}, func(ctx context.Context, _ Call, _ skillListArgs) (string, error) {
		list := library.Snapshot(ctx).Enabled()
		if len(list) == 0 {
			return "There are no skills.", nil
		}
		lines := make([]string, len(list))
		for i, k := range list {
			lines[i] = skillLine(k)
		}
		return strings.Join(lines, "\n"), nil
	})
}
