package skills

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// CheckName returns why a name cannot be a skill's, or nil. A name is a folder's
// name on every system, one word in a list, and not to be mistaken for another:
// letters and digits of any language, "-", "_" and ".".
func CheckName(name string) error {
	switch n := utf8.RuneCountInString(name); {
	case name == "":
		return errors.New("the name is empty")
	case !utf8.ValidString(name):
		return errors.New("the name is not valid UTF-8")
	case n > maxName:
		return fmt.Errorf("the name has %d characters, at most %d are taken", n, maxName)
	case !norm.NFKC.IsNormalString(name):
		return errors.New("the name has characters that look like others: write it with ordinary letters")
	case reserved(name):
		return fmt.Errorf("%q is the name of a device on some systems: choose another", name)
	}
	for i, r := range name {
		inner := i > 0 && (strings.ContainsRune("-_.", r) || unicode.IsMark(r))
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !inner {
			return fmt.Errorf("the name must begin with a letter or digit and have only letters, digits, \"-\", \"_\" and \".\", not %q", r)
		}
	}
	if strings.Contains(name, "..") || strings.HasSuffix(name, ".") {
		return errors.New("the name must not have two dots in a row or one at its end")
	}
	if mixed(name) {
		return errors.New("the name mixes alphabets whose letters look alike: use one of them")
	}
	return nil
}

// reserved reports names that Windows keeps for devices, with any extension.
func reserved(name string) bool {
	base, _, _ := strings.Cut(strings.ToLower(name), ".")
	switch base {
	case "con", "prn", "aux", "nul":
		return true
	}
	port, ok := strings.CutPrefix(base, "com")
	if !ok {
		port, ok = strings.CutPrefix(base, "lpt")
	}
	return ok && len(port) == 1 && port[0] >= '0' && port[0] <= '9'
}

func mixed(name string) bool {
	scripts := 0
	for _, table := range []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek} {
		if strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(table, r) }) {
			scripts++
		}
	}
	return scripts > 1
}

// escapes reports a name that was written to lead somewhere else.
func escapes(name string) bool {
	return strings.ContainsAny(name, `/\`) || strings.Contains(name, "..") || strings.ContainsFunc(name, unicode.IsControl)
}
