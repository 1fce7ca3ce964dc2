package store

import (
	"fmt"
	"strconv"
	"strings"
)

// After is a place in a list that is ordered by a time, newest first: behind the row
// with that time and id. The zero After is the beginning.
type After struct {
	At int64 // ms
	ID string
}

// String is the cursor as programs pass it on; "" = the beginning.
func (c After) String() string {
	if c == (After{}) {
		return ""
	}
	return strconv.FormatInt(c.At, 10) + "." + c.ID
}

// ParseAfter reads what String wrote.
func ParseAfter(text string) (After, error) {
	if text == "" {
		return After{}, nil
	}
	at, id, ok := strings.Cut(text, ".")
	n, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil || id == "" {
		return After{}, fmt.Errorf("%q is no cursor: pass on the next of the page before, as it is", text)
	}
	return After{n, id}, nil
}
