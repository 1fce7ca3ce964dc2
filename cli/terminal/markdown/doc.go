// Package markdown shows Markdown as lines of a terminal, and finds out how much of a
// text that is still being written can be shown for good.
//
// It must not know who wrote the text. What it is given has no control characters.
package markdown
