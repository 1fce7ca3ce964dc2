package tools

import (
	"errors"
	"fmt"
	"strings"

	"picobot/internal/skills"
)

// noSkill words the failure to find a skill for the model.
func noSkill(snap *skills.Snapshot, name string, err error) error {
	switch {
	case errors.Is(err, skills.ErrDisabled):
		return fmt.Errorf("the skill %s is switched off; skill_manage can enable it, if the user wants that", quote(name))
	case !errors.Is(err, skills.ErrUnknown):
		return err
	}
	var names []string
	for _, k := range snap.Enabled() {
		names = append(names, k.Name)
	}
	if len(names) == 0 {
		return fmt.Errorf("there is no skill %s: there are no skills", quote(name))
	}
	const shown = 20
	more := ""
	if names = byLikeness(name, names); len(names) > shown {
		names, more = names[:shown], ", … (skill_list lists all)"
	}
	return fmt.Errorf("there is no skill %s. Skills: %s%s", quote(name), strings.Join(names, ", "), more)
}

// skillLine is a skill in a list.
func skillLine(k skills.Skill) string {
	line := fmt.Sprintf("- %s: %s", k.Name, k.Description)
	if k.Manual {
		line += " (only when the user asks for it by name)"
	}
	return line
}
