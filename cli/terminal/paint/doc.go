// Package paint puts a conversation on a terminal: lines that are final go into the
// terminal's own scrollback, and below them stays a frame that is drawn again and
// again. Nothing is ever asked of the terminal, so one that does not answer cannot
// hold anything up.
//
// It must not know what the lines mean.
package paint
