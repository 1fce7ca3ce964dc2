// Package crash kills PicoBot: the whole process with SIGKILL, at points it is held at
// and at random ones, workers beside an external Temporal, and the embedded Temporal in
// every way its files can be lost. Whatever happened, the record alone must lead to every
// accepted message answered once and every effect done at most once.
//
// A point is held by locking a database: with the record locked, what PicoBot has in its
// hands stays there; with Temporal's locked, nothing begins that has not begun. So the
// kill hits its point however slow the machine is, and one that misses fails the test.
// Kills mid delivery are in package e2e, which can give PicoBot a channel of its own.
//
// `make crash` kills a hundred times and more and ends with totals; `go test` does a
// short round.
package crash
