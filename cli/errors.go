package cli

import (
	"errors"
	"fmt"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// usageError says that the command line itself is wrong.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// errSilent ends a command with exit code 1 when everything has been said already.
var errSilent = errors.New("the command failed")

func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case isUsage(err):
		return exitUsage
	default:
		return exitFailure
	}
}

func isUsage(err error) bool {
	_, ok := errors.AsType[*usageError](err)
	return ok
}
