// Package tui is the conversation as a person has it on a terminal: what was said goes
// into the terminal's own scrollback, and below it stay the answer that is being
// written, the tools that run and the line that is being typed.
//
// Model is the whole of it, in the way of Elm: Update takes one message and returns
// the next Model and what is to be done outside, and changes nothing else. Run does
// what is to be done.
//
// It must not know how the gateway is reached, and what it shows of models and tools
// never has control characters.
package tui
