// Package app puts PicoBot together: gateway.go is the whole system on one page, in
// the order in which it starts, and worker.go and temporal.go are the same for the
// processes that are only a part of it. Every other file here makes one part out of
// the configuration.
//
// It must not decide anything that a part could decide itself, and it knows neither
// flags nor the terminal.
package app
