// Package feishu is the Feishu (Lark) channel: what comes through the long
// connection of the official SDK, what is sent through its HTTP API, and what a chat
// is shown while a turn runs.
//
// Receiving: decide (gate), write down through the gateway's ingest, acknowledge,
// within 3 seconds, and nothing else; what a message only points at is fetched by an
// activity (Prepare). Sending: one uuid for each message, whatever its form and
// however often it is tried, and a record of what may have got through.
//
// It must not run turns or know Temporal, and keeps no truth in memory: the process
// may die at any line. All SQL is in store. Only this package imports Feishu's SDK.
package feishu
