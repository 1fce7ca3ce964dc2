// Package brief makes texts from outside fit where they are shown: on one line, and
// no longer than there is room. It must not know what the texts are.
package brief
