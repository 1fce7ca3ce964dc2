// Package backup writes a home into one file and makes a home of such a file again:
// the record as of one moment, also of a home that is running, and the files beside it
// that nobody could make anew.
//
// The file is a gzipped tar archive. What is in it, and in which order, is in
// contents.go. An archive that is read is outside input: nothing of it is used before
// all of it was read and found sound, and no home is ever seen half restored.
//
// It must not know flags, nor what the files mean.
package backup
