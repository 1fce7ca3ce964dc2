// Package endpoint is what all providers that are reached over HTTP have in
// common: the connection, the clocks of one attempt, reading a stream of events
// as servers really write it, and finding out what an error reply means. It knows
// no vendor's requests or answers, and like the adapters it does not retry, log
// or read the environment (a proxy excepted).
package endpoint
