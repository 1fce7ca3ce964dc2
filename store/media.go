package store

import (
	"context"
	"encoding/json"
	"fmt"

	"picobot/internal/chat"
)

// mediaPage is how many rows are looked through at once for files they name.
const mediaPage = 5000

// MediaPaths returns the paths of all files that rows or accepted messages name, as
// they are written there.
func (s *Store) MediaPaths(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	for _, table := range []struct{ last, page string }{
		{`SELECT coalesce(max(rowid), 0) FROM inbound_messages`, `SELECT media FROM inbound_messages WHERE rowid > ? AND rowid <= ? AND media IS NOT NULL`},
		{`SELECT coalesce(max(rowid), 0) FROM messages`, `SELECT media_refs FROM messages WHERE rowid > ? AND rowid <= ? AND media_refs IS NOT NULL`},
	} {
		for from, last := int64(0), int64(1); from < last; from += mediaPage {
			err := s.view(ctx, func(q querier) error {
				if err := q.row(table.last).Scan(&last); err != nil {
					return err
				}
				rows, err := q.rows(table.page, from, from+mediaPage)
				lists, err := collect(rows, err, scanOne[string])
				if err != nil {
					return err
				}
				return addPaths(out, lists)
			})
			if err != nil {
				return nil, fmt.Errorf("look for attachments: %w", err)
			}
		}
	}
	return out, nil
}

func addPaths(out map[string]bool, lists []string) error {
	for _, list := range lists {
		var refs []chat.MediaRef
		if err := json.Unmarshal([]byte(list), &refs); err != nil {
			return fmt.Errorf("read attachments: %w", err)
		}
		for _, ref := range refs {
			if ref.Path != "" {
				out[ref.Path] = true
			}
		}
	}
	return nil
}
