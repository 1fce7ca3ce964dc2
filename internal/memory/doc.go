// Package memory says what a long-term memory is: whose it is, what it may be
// called and how large it may get, how its text is cut into terms so that it is
// found in any language, and what a plan to tidy memories may do.
//
// It does no I/O: memories are kept by package store, asked for by package tools,
// and tidied by package activities.
package memory
