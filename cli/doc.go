// Package cli is PicoBot's command line: what a person types and what a terminal
// shows. One file per group of commands; each command reads its flags, asks other
// packages to do the work, and prints.
//
// Commands know the outside world only through System: no command touches os.Stdout
// or os.Getenv itself, so every one of them runs in a test. Below this package are
// app (what a running PicoBot is made of), connect (which gateway to talk to),
// client (the talking), terminal (what the conversation looks like) and logging.
//
// It must not hold anything that a gateway or a worker needs to do its work.
package cli
