package doctor

import (
	"context"

	"picobot/cli/app"
)

// maxSkippedSkills bounds how many are named one by one.
const maxSkippedSkills = 20

// skills says which skills there are, and names those that were skipped. A project's
// are those of the directory doctor is called in.
func (e *examination) skills(ctx context.Context) {
	library := app.Skills(e.Options.Options, nil)
	if library == nil {
		e.ok("skills", "they are switched off by skills.enabled")
		return
	}
	snap := library.Snapshot(ctx)
	skipped := snap.Skipped()
	for i, p := range skipped {
		if i == maxSkippedSkills {
			e.warn("skills", "see `picobot skills check`", "%d more were skipped", len(skipped)-i)
			break
		}
		e.warn("skills", "correct or delete "+p.Path, "%s was skipped: %s", p.Name, p.Message)
	}
	if len(skipped) == 0 {
		e.ok("skills", "%d, of which %d are switched on", len(snap.Skills()), len(snap.Enabled()))
	}
}
