package app

import (
	"context"
	"encoding/json"
	"path/filepath"

	"picobot/internal/config"
	"picobot/internal/skills"
	"picobot/internal/tools"
	"picobot/store"
)

// agentsDir is where all agents of a user or a project look for skills.
const agentsDir = ".agents/skills"

// Skills are the skills that the configuration names, nil when they are switched off.
// What happens to them is written into record; nil = nowhere.
func Skills(o Options, record *store.Store) *skills.Library {
	cfg := o.Config.Skills
	if !cfg.Enabled {
		return nil
	}
	opts := skills.Options{
		MaxIndexChars: cfg.MaxIndexChars,
		MaxListed:     cfg.MaxListedSkills,
		Now:           o.Now,
		Logger:        o.Log,
		States:        []skills.StateFile{{Scope: skills.User, Base: o.Home.Dir, Path: filepath.Base(o.Home.SkillStateFile())}},
	}
	if o.WorkDir != "" {
		opts.States = append(opts.States, skills.StateFile{Scope: skills.Project, Base: o.WorkDir, Path: ".picobot/skill-state.json"})
	}
	for _, name := range cfg.Sources {
		s := skills.Source{Name: name}
		switch name {
		case config.SkillsUser:
			s.Scope, s.Base, s.Path, s.Managed = skills.User, o.Home.Dir, filepath.Base(o.Home.SkillsDir()), true
		case config.SkillsUserAgent:
			s.Scope, s.Base, s.Path = skills.User, o.UserHome, agentsDir
		case config.SkillsProject:
			s.Scope, s.Base, s.Path, s.Confined, s.Managed = skills.Project, o.WorkDir, ".picobot/skills", true, true
		case config.SkillsProjectAgent:
			s.Scope, s.Base, s.Path, s.Confined = skills.Project, o.WorkDir, agentsDir, true
		}
		if s.Base != "" {
			opts.Sources = append(opts.Sources, s)
		}
	}
	if record != nil {
		opts.Record = recorder(record)
	}
	return skills.New(opts)
}

func recorder(record *store.Store) skills.Recorder {
	return func(ctx context.Context, events []skills.Event) error {
		rows := make([]store.SkillEvent, len(events))
		for i, e := range events {
			rows[i] = store.SkillEvent{Skill: e.Skill, Event: string(e.Kind), Scope: string(e.Scope), SessionID: e.SessionID}
			if len(e.Detail) == 0 {
				continue
			}
			detail, err := json.Marshal(e.Detail)
			if err != nil {
				return err
			}
			rows[i].Detail = detail
		}
		return record.AddSkillEvents(ctx, rows)
	}
}

// skillTools are the tools for skills; none when skills are switched off.
func skillTools(library *skills.Library) []tools.Tool {
	if library == nil {
		return nil
	}
	return []tools.Tool{tools.SkillActivate(library), tools.SkillList(library), tools.SkillManage(library)}
}

// index is what models are told of skills: nothing where they could not use them.
func (p *parts) index() func(context.Context) string {
	if _, ok := p.tools.Lookup("skill_activate"); !ok || p.skills == nil {
		return nil
	}
	return p.skills.Index
}
