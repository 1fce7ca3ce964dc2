// Package harness runs the real binary in a temporary home, for tests that look at
// PicoBot from outside: command lines, a gateway that may be killed at any moment,
// its WebSocket, and the record it leaves behind.
//
// It asserts nothing itself beyond what makes a test pointless when it fails. It must
// not reach into the process: whatever it knows, a user could know.
package harness
