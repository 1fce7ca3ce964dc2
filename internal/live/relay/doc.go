// Package relay takes the news of a hub to another process: what a worker of its own
// knows of the moment, to the gateway that has the clients.
//
// Nothing waits for it and nothing hangs on it: what cannot be handed over at once is
// dropped, and never handed over twice. What is durable the other process reads in the
// record. It must not know how the other process is found, nor how it is talked to.
package relay
