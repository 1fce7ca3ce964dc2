// Package client talks to a gateway as a terminal does: it connects, says hello,
// sends messages and waits for the end of their turns. It is what stands between a
// person and a network that breaks: it reconnects where the conversation was,
// resends what was not answered under the same ids, and shows nothing twice.
//
// It must not know where the gateway comes from (connect does) nor what the
// conversation looks like (terminal does).
package client
