// Package history keeps what a person has typed, across conversations: a file in the
// home that only its owner may read.
//
// It must not know what the texts mean.
package history
