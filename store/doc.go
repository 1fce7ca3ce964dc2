// Package store is the record: the SQLite file that says what was said and done.
// It owns the schema, the migrations and every SQL statement of the project; one
// file per entity. Each exported method is one transaction (or one snapshot), so
// that whoever calls it can be killed before or after but never in between.
//
// It must not know of Temporal, channels, models or tools: rules about what a
// turn does next live in workflows and activities. What it does own are the
// rules that keep the record sound whoever calls: one running turn per session,
// one answer per model step, one result per tool call, seq without gaps, and
// nothing appended to a turn that has ended (the fence).
package store
