// Package crash kills PicoBot: the whole process with SIGKILL, at points it is led to
// and at random ones, and the embedded Temporal in every way its files can be lost.
// Whatever happened, the record alone must lead to every accepted message answered
// once and every effect done at most once.
//
// `make crash` kills a hundred times and more; `go test` does a short round.
package crash
