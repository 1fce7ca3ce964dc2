// Package config owns the configuration: its keys, their defaults, where the file
// is found, how environment variables get into it, and what makes it wrong.
//
// Load answers with a Config that is whole and valid, or with an *Error that lists
// every problem at once. A Config is a value: nobody changes one after Load.
//
// The way of a file through the package: locate and read (load.go), parse JSON with
// comments into a tree that knows duplicate keys (tree.go), put environment
// variables into its strings (expand.go), lay it over the defaults (decode.go,
// defaults.go), fill what follows from other keys (resolve.go), check (validate*.go).
// To add a key: a field with its json tag in config.go, its default in defaults.go,
// its range in validate.go, a line in starter.jsonc. Tests find what is missing.
//
// It must not open the store, the network or anything the configuration points at:
// whether a key works is the doctor's business. It must not validate scheduled jobs
// either: they stay raw, so that one bad job never stops the others. Other packages
// of PicoBot are unknown to it.
package config
