// Package prompt makes of the record's rows a request that every provider takes:
// which rows a model is told, every call with exactly one result, and old tool
// results left out when the window is too small. It also owns AGENT.md, the
// prompt a session starts with. It changes no row and calls no model.
package prompt
