// Package flow holds what crosses the border between workflows and activities:
// workflow ids, signals, task queues, activity names, their inputs and outputs.
// Everything here ends up in Temporal's history, so it carries ids and small
// numbers, never contents.
package flow
