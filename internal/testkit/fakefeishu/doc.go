// Package fakefeishu is a Feishu server for tests: its HTTP API as far as a bot
// uses it, and the long connection that events come through. It behaves like the
// real one where that hurts: errors are HTTP 400 with a code, rates are limited,
// tokens end, an event that is not acknowledged comes again, one of several
// connections gets it, a uuid shows a message once an hour, and contents have
// limits. The unmodified SDK talks to it.
//
// It shares no code with what it tests, and none with the SDK: frames and JSON are
// written down here a second time, on purpose.
package fakefeishu
