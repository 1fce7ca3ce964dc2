package doctor

import (
	"context"

	"picobot/cli/app"
	"picobot/internal/text"
)

// maxSkippedSkills bounds how many are named one by one.
const maxSkippedSkills = 20

// skills says which skills there are, and names those that were skipped. A project's
// are those of the directory doctor is called in.
func (e *examination) skills(ctx context.Context) {
	library := app.Skills(e.Options.Options, nil)
	if library == nil {
		e.ok("skills", e.say(text.DoctorSkillsOff{}))
		return
	}
	snap := library.Snapshot(ctx)
	skipped := snap.Skipped()
	for i, p := range skipped {
		if i == maxSkippedSkills {
			e.warn("skills", text.DoctorCheckSkills{}, e.say(text.DoctorMoreSkipped{Number: len(skipped) - i}))
			break
		}
		e.warn("skills", text.DoctorCorrectSkill{Path: p.Path}, e.say(text.DoctorSkillSkipped{Name: p.Name, Detail: p.Message}))
	}
	if len(skipped) == 0 {
		e.ok("skills", e.say(text.DoctorSkills{Number: len(snap.Skills()), On: len(snap.Enabled())}))
	}
}
