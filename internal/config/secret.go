package config

import "log/slog"

// mask is what is shown instead of a secret.
const mask = "****"

// Secret is a string that shows itself as **** wherever it is printed, logged or
// written as JSON, so that no secret leaks by accident. Reveal is the only way to
// the value.
type Secret string

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String returns **** unless the secret is empty.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// GoString keeps %#v from printing the secret.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// MarshalText keeps encoding/json from writing the secret.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue keeps log/slog from writing the secret.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
