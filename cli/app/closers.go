package app

import (
	"errors"
	"fmt"
)

// closers gives back what was opened, the last first.
type closers []func() error

func (c *closers) add(what string, shut func() error) {
	*c = append(*c, func() error {
		if err := shut(); err != nil {
			return fmt.Errorf("close %s: %w", what, err)
		}
		return nil
	})
}

func (c closers) close() error {
	var errs []error
	for i := len(c) - 1; i >= 0; i-- {
		errs = append(errs, c[i]())
	}
	return errors.Join(errs...)
}
