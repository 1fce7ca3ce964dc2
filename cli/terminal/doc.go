// Package terminal is what a conversation looks like to a script, and to a person whose
// terminal can do no more: one message and its reply (One), or a message per line
// (Lines). Package tui below it is what a person sees.
//
// It must not know how the gateway is reached: it is given a conversation and what
// the gateway says.
package terminal
