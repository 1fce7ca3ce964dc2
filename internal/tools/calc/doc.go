// Package calc works out arithmetic written by a language model. It owns the
// grammar (parsed by expr-lang, of which only numbers, operators and calls of a
// fixed list of functions are let through), the arithmetic (fractions as long as
// a result is rational, floating point after that) and how a result is printed.
//
// It must not reach anything outside the expression: no variables, no I/O, no
// clock. Work is bounded by the length of the expression, the number of its
// nodes and the size of every intermediate number, so it needs no timeout.
package calc
