// Package fakeanthropic is Anthropic's Messages API for tests: as strict as the
// real one about what it is sent (signatures of thoughts, pairs of calls and
// results, roles, empty texts, cache breakpoints, fields it does not know), it
// streams the events that the real one streams, remembers which prefixes it has
// cached, plays what a test scripted, and keeps every request it saw. The real
// one is described at https://platform.claude.com/docs/en/api/messages.
//
// It shares no code with the adapter it tests: what it reads and writes is written
// down here a second time, on purpose.
package fakeanthropic
