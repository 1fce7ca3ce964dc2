// Package doctor looks at everything that PicoBot needs and says what is well, what
// is odd and what is broken, each with what to do about it. It changes nothing.
//
// It must not repair anything, and knows nothing of how its findings are printed.
package doctor
