package config

import _ "embed"

//go:embed starter.jsonc
var starter string

// Starter returns the text of a configuration file to begin with: every key with its
// default and what it is for. Loading it is the same as loading an empty file.
func Starter() string { return starter }
