// Package tracing tells an OpenTelemetry collector how messages are answered: one
// trace for each turn, whose id is the turn's own. So whoever works on a turn, in
// whatever process and after whatever crash, finds its trace without anything being
// passed on, and the record and Temporal's history hold nothing of it.
//
//	message            accepted by the gateway, or brought by a job
//	└ turn             from begin to end: what its workflow did
//	  ├ BeginTurn      each attempt at an activity
//	  ├ CallModel
//	  │ └ chat MODEL   each request to a provider
//	  ├ RunTool
//	  └ …
//
// Spans carry ids, names, counts and kinds of failures, never contents. Nothing is
// traced unless the environment asks for it, see FromEnv; a nil *Tracing does nothing.
package tracing
