// Package port opens listening ports and, when one is taken, says by whom.
//
// It must not decide what to do about it: whether a taken port is an error or
// is replaced by a free one is its caller's business.
package port
