// Package llm says what a model provider is: neutral requests and responses, one
// typed error, and the table that sorts errors into what may be retried. The
// adapters live below it (offline, openai, …), one package each; only an adapter
// imports its vendor's library. Nothing here retries: Temporal is the only owner
// of retries.
package llm
