// Package scheduler keeps one Temporal Schedule for each job of the record, makes up
// for slots that none of them started, and starts the runs that the record has and
// Temporal does not. It holds nothing that the record cannot tell it again: what it
// remembers of Temporal only saves calls.
//
// It must not decide what becomes of a slot (store does) nor run anything (workflows
// and activities do).
package scheduler
