// Package engine runs a Temporal server with its web UI inside this process, on
// SQLite files in one directory.
//
// It owns everything in that directory: the files, their version, setting them
// aside when they do not fit this build, and the settings that make a stock
// server fast enough for a chat. The record is the truth and these files only
// move it forward, so the engine may start with empty ones whenever it doubts
// the old ones; it says so, and its caller rebuilds what was in them.
//
// It must not know what runs on the server: no workflow, no activity, nothing
// of the record. It is imported by the command line and the end-to-end tests
// only, because compiling a Temporal server takes minutes.
package engine
