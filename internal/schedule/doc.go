// Package schedule knows what a scheduled job is: its JSON form and the one
// validation for jobs of the configuration, of the scheduler_manage tool, of HTTP and
// of the command line, and when a job is due.
//
// It must not touch the record, Temporal or the clock: the moment and the machine's
// zone are given to it.
package schedule
