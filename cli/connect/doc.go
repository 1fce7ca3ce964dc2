// Package connect answers one question for a client in the terminal: which gateway
// do I talk to? One that was named, else the one that owns the home, else the one
// at the configured address, else one started inside this very process.
//
// It must not know what is said to the gateway, nor what a gateway is made of.
package connect
