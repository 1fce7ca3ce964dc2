package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"picobot/internal/brief"
	"picobot/internal/skills"
)

//go:embed skill_activate.md
var skillActivateDescription string

type skillActivateArgs struct {
	Name string `json:"name" jsonschema:"name of the skill"`
}

// SkillActivate is the tool skill_activate.
func SkillActivate(library *skills.Library) Tool {
	return New(Spec[skillActivateArgs]{
		Name:        "skill_activate",
		Description: skillActivateDescription,
		Effect:      ReadOnly, // the event it leaves is the same when it runs again
		Summary:     func(a skillActivateArgs) string { return a.Name },
	}, func(ctx context.Context, call Call, a skillActivateArgs) (string, error) {
		detail := map[string]any{"turn_id": call.TurnID, "call": call.ID}
		got, err := library.Activate(ctx, a.Name, call.SessionID, detail)
		if err != nil {
			return "", noSkill(library.Snapshot(ctx), a.Name, err)
		}
		return activation(got), nil
	})
}

// activation is a skill as the model reads it.
func activation(a skills.Activation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Skill: %s\nFolder: %s\n", a.Skill.Name, a.Skill.Path)
	if len(a.Files) > 0 {
		b.WriteString("Files in it:\n")
		for _, file := range a.Files {
			fmt.Fprintf(&b, "- %s\n", brief.OneLine(file))
		}
		if a.More {
			b.WriteString("- … and more; list them with bash\n")
		}
	}
	b.WriteString("\n" + strings.TrimSpace(a.Body))
	return b.String()
}
