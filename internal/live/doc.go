// Package live passes what is only of the moment from those who work on a turn to
// those who watch it: streamed text, tools that start, and the news that a
// session's record has changed. Nothing here is durable and nothing waits: what a
// slow watcher misses it finds in the record, or never needed. Where workers and watchers
// are in two processes, a Tap collects the news of one and Pass gives them to the other.
package live
