package memory

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds, in characters.
const (
	MaxNamespace = 64
	MaxKey       = 128
	MaxContent   = 8000
	MaxQuery     = 1000
)

// CleanName returns the name as it is stored, or says what is wrong with it. Letters
// of every language, digits, punctuation and single spaces are allowed.
func CleanName(n Name) (Name, error) {
	namespace, err := label("namespace", n.Namespace, MaxNamespace)
	if err != nil {
		return n, err
	}
	key, err := label("key", n.Key, MaxKey)
	return Name{Namespace: namespace, Key: key}, err
}

// CleanNamespace returns a namespace as it is stored.
func CleanNamespace(s string) (string, error) { return label("namespace", s, MaxNamespace) }

// label cleans a short name: composed (so that what looks the same is the same),
// without space around it, runs of spaces as one.
func label(what, s string, most int) (string, error) {
	if !utf8.ValidString(s) {
		return "", fmt.Errorf("the %s is no valid UTF-8", what)
	}
	if len(s) > 8*utf8.UTFMax*most { // far beyond: not worth the normalising
		return "", tooLong(what, most)
	}
	s = strings.Join(strings.FieldsFunc(norm.NFC.String(s), func(r rune) bool { return unicode.Is(unicode.Zs, r) }), " ")
	if s == "" {
		return "", fmt.Errorf("the %s is empty: give it a short name, such as preferences or 偏好", what)
	}
	if utf8.RuneCountInString(s) > most {
		return "", tooLong(what, most)
	}
	for _, r := range s {
		if !printable(r) {
			return "", fmt.Errorf("the %s contains the character %U, which nobody can see or which breaks lines: leave it out", what, r)
		}
	}
	return s, nil
}

// printable reports whether a character may be in a name. The joiners are part of
// how some languages are written.
func printable(r rune) bool {
	const zwnj, zwj = '\u200c', '\u200d'
	return unicode.IsPrint(r) || r == zwnj || r == zwj
}

// CleanContent returns a content as it is stored, or says what is wrong with it.
func CleanContent(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", errors.New("the content is no valid UTF-8")
	}
	s = strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n"))
	if s == "" {
		return "", errors.New("the content is empty: write what is to be remembered")
	}
	if n := utf8.RuneCountInString(s); n > MaxContent {
		return "", fmt.Errorf("the content is %d characters long, at most %d are taken: shorten it, or split it over several keys", n, MaxContent)
	}
	for _, r := range s {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return "", fmt.Errorf("the content contains the control character %U: leave it out", r)
		}
	}
	return s, nil
}

func tooLong(what string, most int) error {
	return fmt.Errorf("the %s is too long, at most %d characters are taken", what, most)
}

// CleanScope checks a scope that an operator names: channel:sender_id.
func CleanScope(s string) (string, error) {
	channel, sender, ok := strings.Cut(s, ":")
	if !ok || channel == "" || sender == "" || !utf8.ValidString(s) || len(s) > 1024 || strings.ContainsFunc(s, unicode.IsControl) {
		return "", fmt.Errorf("%q is no scope: write channel:sender_id, such as cli:alice", s)
	}
	return s, nil
}
