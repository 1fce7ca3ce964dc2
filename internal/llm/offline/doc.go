// Package offline is a model without a network: it reads the last user message as
// a command, asks for real tool calls, and answers with their results. First runs,
// tests and benchmarks use it. The same request is always answered the same way.
//
// It calls only tools that the request offers, so that a request without tools (a
// title, a summary) is answered with text whatever the conversation says. It must
// not touch the network, the disk, or the clock other than through Options.
package offline
