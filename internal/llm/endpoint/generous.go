package endpoint

import (
	"bytes"
	"encoding/json"
)

// Text is a string; null and every other type read as "".
type Text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*t = Text(s)
	}
	return nil
}

// Number is a whole number however it is written; what is none reads as 0.
type Number int64

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(raw []byte) error {
	var f float64
	if json.Unmarshal(bytes.Trim(raw, `"`), &f) == nil && f >= 0 && f < 1<<53 {
		*n = Number(f)
	}
	return nil
}
