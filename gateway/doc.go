// Package gateway is the HTTP and WebSocket server: what clients see of PicoBot.
// It owns who may come in (address, origin, token, sizes), the order in which a
// socket is told what the record says, the commands that start with a slash, and
// the handing over of messages to connected clients.
//
// It writes a message down before it says so, and asks for it to be worked on only
// then. It must not run turns, call models or tools, or know of Temporal: what it
// shows is read from the record, and whoever changes the record wakes it.
package gateway
