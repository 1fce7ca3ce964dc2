// Package chat holds the words every other package speaks in: messages, tool
// calls, media references, session ids. It is a leaf: types and pure functions
// only, no I/O, no clock, no dependency on any other package of PicoBot.
package chat
