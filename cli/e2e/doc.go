// Package e2e tests PicoBot from outside: the real binary, its embedded Temporal, its
// record, its WebSocket. What is tested here is what a person or a script may rely
// on, crashes included; anything finer belongs to the package that does it.
package e2e
