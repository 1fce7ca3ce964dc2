//go:build !unix

package tui

import "errors"

func (t *tty) watchSize(func(width, height int)) (stop func()) { return func() {} }

func (t *tty) suspend() error { return errors.New("this system has no background") }
