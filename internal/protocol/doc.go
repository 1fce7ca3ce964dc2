// Package protocol is the WebSocket protocol, version 1: one JSON object a text
// frame, told apart by its key "type". It owns the frames' shapes and the strict
// decoding of what clients send; it must not know what is done with them.
package protocol
