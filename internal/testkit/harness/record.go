package harness

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"picobot/internal/testkit/strict"
)

// DB opens the record for reading. It is closed when the test ends.
func (h *Harness) DB() *sql.DB {
	h.tb.Helper()
	path := filepath.Join(h.Home, "storage", "sessions.db")
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: "mode=ro&_pragma=busy_timeout(5000)&_pragma=query_only(ON)"}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		h.tb.Fatal(err)
	}
	h.tb.Cleanup(func() { _ = db.Close() })
	return db
}

// Record returns the rows of a query on the record, the columns of each joined by
// "|" and NULL written as "-".
func (h *Harness) Record(query string, args ...any) []string {
	h.tb.Helper()
	db := h.DB()
	defer db.Close()
	rows, err := db.Query(query, args...)
	if err != nil {
		h.tb.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		h.tb.Fatal(err)
	}
	var out []string
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			h.tb.Fatal(err)
		}
		words := make([]string, len(values))
		for i, v := range values {
			switch v := (*v.(*any)).(type) {
			case nil:
				words[i] = "-"
			case []byte:
				words[i] = string(v)
			default:
				words[i] = fmt.Sprint(v)
			}
		}
		out = append(out, strings.Join(words, "|"))
	}
	if err := rows.Err(); err != nil {
		h.tb.Fatal(err)
	}
	return out
}

// Unsound says what is wrong with the record, see package strict.
func (h *Harness) Unsound() []string {
	h.tb.Helper()
	db := h.DB()
	defer db.Close()
	bad, err := strict.Record(db)
	if err != nil {
		h.tb.Fatal(err)
	}
	return bad
}
