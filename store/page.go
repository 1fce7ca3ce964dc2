package store

import "database/sql"

// maxPage is how many bytes of rows are read at once. Many readers hold a page at the
// same time, each for as long as its peer takes it: what they hold must not grow with
// what is in their sessions.
const maxPage = 256 << 10

// page is collect for rows of messages. It stops with the row that makes the page
// full; more tells that it did not look behind that one.
func page(rows *sql.Rows, err error) (out []Row, more bool, _ error) {
	if err != nil {
		return nil, false, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what matters
	for size := 0; rows.Next(); {
		r, err := scanRow(rows)
		if err != nil {
			return nil, false, err
		}
		out = append(out, r)
		if size += r.size(); size >= maxPage {
			return out, true, rows.Err()
		}
	}
	return out, false, rows.Err()
}

// size is about what a row takes in memory.
func (r Row) size() int {
	n := len(r.Content) + len(r.ReasoningContent)
	for _, c := range r.ToolCalls {
		n += len(c.Function.Arguments)
	}
	return n
}
