// Package dispatch makes Temporal move what the record says must move: it nudges
// the workflow of a session that has something waiting, passes cancels on, looks
// again at what got stuck, and after a restart sets every unfinished session
// going anew. It only ever reads the record; losing everything it has in memory
// costs a sweep.
package dispatch
