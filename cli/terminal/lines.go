package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"picobot/cli/client"
)

// Lines sends each line of in as a message and prints the answers in order; empty
// lines are left out. A turn that fails and a message that is refused are reported
// on Stderr and the next line is sent. It fails when the conversation breaks off, or
// when there were messages and the gateway took none of them.
func Lines(ctx context.Context, c Conversation, in io.Reader, maxBytes int, out Output) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan inputLine)
	// Reading cannot be interrupted, so it has a goroutine of its own, which ends
	// with the input or with the process.
	go readLines(ctx, bufio.NewReaderSize(in, 64<<10), maxBytes, lines)
	taken, refused := 0, error(nil)
	for {
		select {
		case <-ctx.Done():
			return out.told(ctx.Err())
		case l, more := <-lines:
			if !more {
				if taken == 0 {
					return refused
				}
				return nil
			}
			err := l.err
			if err == nil {
				err = One(ctx, c, l.text, out)
			}
			var failed *FailedError
			var no *client.RefusedError
			switch {
			case err == nil:
				taken++
			case errors.As(err, &failed):
				taken++
				_, _ = fmt.Fprintln(out.Stderr, err)
			case errors.As(err, &no) || errors.Is(err, errLong):
				refused = err
				_, _ = fmt.Fprintln(out.Stderr, err)
			default:
				return err
			}
		}
	}
}

type inputLine struct {
	text string
	err  error
}

var errLong = errors.New("line is too long")

func readLines(ctx context.Context, in *bufio.Reader, maxBytes int, lines chan<- inputLine) {
	defer close(lines)
	for number := 1; ; number++ {
		l, err := readLine(in, maxBytes)
		if errors.Is(l.err, errLong) {
			l.err = fmt.Errorf("%w: line %d has more than the %d bytes of gateway.max_message_bytes", errLong, number, maxBytes)
		}
		if l.err != nil || strings.TrimSpace(l.text) != "" {
			select {
			case lines <- l:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				select {
				case lines <- inputLine{err: fmt.Errorf("read the input: %w", err)}:
				case <-ctx.Done():
				}
			}
			return
		}
	}
}

// readLine reads up to a newline or the end of the input. What is longer than
// maxBytes is skipped to its end, so that it never lies in memory.
func readLine(in *bufio.Reader, maxBytes int) (inputLine, error) {
	var text []byte
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if len(text)+len(part) > maxBytes+len("\r\n") {
			text, long = nil, true
		}
		if !long {
			text = append(text, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		s := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
		if long || len(s) > maxBytes {
			return inputLine{err: errLong}, err
		}
		return inputLine{text: s}, err
	}
}
