// Package workflows decides what happens next. It is deterministic: no clock, no
// I/O, no random numbers of its own, and it imports types only (flow, chat, the
// Temporal SDK). Its state is nothing but ids: whatever a workflow needs to know
// it asks an activity, which reads it from the record. So a lost, repeated or
// rolled back run does no harm, and a fresh run goes on where the record stands.
package workflows
