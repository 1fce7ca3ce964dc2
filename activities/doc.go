// Package activities does what workflows decide: it calls models, runs tools,
// ends turns and sends messages. Each activity reads what it needs from the
// record and writes its result there in one idempotent, fenced transaction before
// it returns, so that it can be repeated, overtaken or killed at any point.
//
// What happens next is not decided here, and nothing here keeps state between
// activities but the table of work in flight.
package activities
