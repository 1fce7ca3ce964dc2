// Package load leans on a gateway with many clients at once, slow ones and hostile
// ones: the real binary, real sockets, frames no client library would send. Whatever
// they do, nobody else may lose a row, see one twice or wait for them, and the
// process may not grow without end.
//
// It reports what it measured (t.Log, and as metrics of its benchmarks) and asserts
// only what holds on the slowest machine.
package load
