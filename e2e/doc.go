// Package e2e holds tests only: turns through the real embedded Temporal, the
// real record, worker and dispatcher, in one process. What needs the binary, a
// terminal or kill -9 is tested beside the command line.
package e2e
