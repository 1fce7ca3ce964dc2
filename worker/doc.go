// Package worker connects to Temporal and serves PicoBot's task queues: it knows
// which workflows and activities exist, how many of each run at once, and how a
// worker stops. What they do it does not know.
package worker
