// Package logging makes the process's logger: its level, its format, and the
// promise that no known secret is ever written, whoever logs it and however deep
// in an attribute it hides.
//
// It must not decide where logs go: that is the command's business.
package logging
