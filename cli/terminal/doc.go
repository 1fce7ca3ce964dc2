// Package terminal is what a conversation looks like to a person or a script: one
// message and its reply (One), a message per line (Lines), or a prompt with the
// answer appearing as it is written (Interactive).
//
// It must not know how the gateway is reached: it is given a conversation and what
// the gateway says.
package terminal
