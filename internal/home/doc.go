// Package home owns the home directory: where each file lives, who may run in
// it (the process lock), and the small secrets and ids that belong to one
// installation.
//
// It must not know what the files contain: configuration, the record and the
// engine's files are read and written by their own packages.
package home
