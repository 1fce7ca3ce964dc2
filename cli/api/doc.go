// Package api is the gateway's HTTP API as commands use it: it finds the gateway
// that runs for a home, asks and tells it things as JSON, and turns its refusals
// into errors a person can read. It starts no gateway, and what is said about
// which resource is its callers'.
package api
