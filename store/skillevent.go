package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// SkillEvent is something that happened to a skill.
type SkillEvent struct {
	ID        string
	Skill     string // "" = all
	Event     string // discovered, skipped, activated, created, updated, deleted, disabled, reloaded
	Scope     string
	SessionID string          // whose turn it was; "" = nobody's
	Detail    json.RawMessage // nil = none
	CreatedAt int64
}

// AddSkillEvents writes down what happened to skills, once: whoever looks at the disk
// finds the same skills again with every start, and an activation may be run again
// after a crash. A discovery that says what the last word on that skill was, and an
// activation that is there already, are left out.
func (s *Store) AddSkillEvents(ctx context.Context, events []SkillEvent) error {
	return s.update(ctx, func(t *tx) error {
		var last seen
		for _, e := range events {
			known := false
			switch e.Event {
			case "discovered", "skipped", "deleted":
				if last == nil {
					var err error
					if last, err = lastSeen(t); err != nil {
						return err
					}
				}
				known = last.says(e)
				last.note(e)
			case "activated":
				var err error
				if known, err = t.wasActivated(e); err != nil {
					return err
				}
			}
			if known {
				continue
			}
			if _, err := t.exec(`INSERT INTO skill_events (id, skill, event, scope, session_id, detail, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
				t.s.ids.New(), e.Skill, e.Event, nullString(e.Scope), nullString(e.SessionID), nullJSON(e.Detail), t.at); err != nil {
				return fmt.Errorf("record skill event: %w", err)
			}
		}
		return nil
	})
}

// seenKey is a skill at its place: one name may be found in several.
type seenKey struct{ skill, scope, place string }

// seen is the last word on each skill.
type seen map[seenKey]string

func (s seen) says(e SkillEvent) bool {
	return e.Event != "deleted" && s[keyOf(e)] == e.Event+string(e.Detail)
}

// note keeps the last word. A deletion is the last word wherever the skill was.
func (s seen) note(e SkillEvent) {
	if e.Event != "deleted" {
		s[keyOf(e)] = e.Event + string(e.Detail)
		return
	}
	for k := range s {
		if k.skill == e.Skill && k.scope == e.Scope {
			delete(s, k)
		}
	}
}

func keyOf(e SkillEvent) seenKey { return seenKey{e.Skill, e.Scope, place(e.Detail)} }

// place is where a skill was seen.
func place(detail json.RawMessage) string {
	var d struct {
		Path string `json:"path"`
	}
	_ = json.Unmarshal(detail, &d) // whatever it is: then there is no place
	return d.Path
}

func lastSeen(q querier) (seen, error) {
	rows, err := q.rows(`SELECT skill, event, coalesce(scope, ''), coalesce(detail, '') FROM skill_events
		WHERE event IN ('discovered', 'skipped', 'deleted') ORDER BY id`)
	list, err := collect(rows, err, func(r scanner) (e SkillEvent, err error) {
		var detail string
		err = r.Scan(&e.Skill, &e.Event, &e.Scope, &detail)
		e.Detail = json.RawMessage(detail)
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("read skill events: %w", err)
	}
	last := seen{}
	for _, e := range list {
		last.note(e)
	}
	return last, nil
}

func (t *tx) wasActivated(e SkillEvent) (was bool, err error) {
	err = t.row(`SELECT EXISTS (SELECT 1 FROM skill_events WHERE event = 'activated' AND skill = ? AND coalesce(session_id, '') = ? AND coalesce(detail, '') = ?)`,
		e.Skill, e.SessionID, string(e.Detail)).Scan(&was)
	return was, err
}

// SkillEvents lists what happened to skills, the newest first; skill "" = to all of
// them, n 0 = 100.
func (s *Store) SkillEvents(ctx context.Context, skill string, n int) ([]SkillEvent, error) {
	var out []SkillEvent
	err := s.view(ctx, func(q querier) error {
		rows, err := q.rows(`SELECT id, skill, event, coalesce(scope, ''), coalesce(session_id, ''), detail, created_at FROM skill_events
			WHERE ? = '' OR skill = ? ORDER BY id DESC LIMIT ?`, skill, skill, limit(n))
		out, err = collect(rows, err, func(r scanner) (e SkillEvent, err error) {
			var detail sql.NullString
			err = r.Scan(&e.ID, &e.Skill, &e.Event, &e.Scope, &e.SessionID, &detail, &e.CreatedAt)
			if detail.Valid {
				e.Detail = json.RawMessage(detail.String)
			}
			return e, err
		})
		return err
	})
	return out, err
}
