// Package fakeopenai is an OpenAI-compatible server for tests. It is as strict as
// the strictest real endpoint about what it is sent (a wrong request is answered
// as a provider would answer it), plays what a test scripted, and keeps every
// request it saw.
//
// It shares no code with the adapters it tests: what it reads and writes is
// written down here a second time, on purpose.
package fakeopenai
