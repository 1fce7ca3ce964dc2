// Package seen keeps how far the terminals of a home have seen each dialog, across
// conversations: a small private file.
//
// It must not know what was seen.
package seen
