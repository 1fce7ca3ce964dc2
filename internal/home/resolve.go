package home

import (
	"errors"
	"path/filepath"
	"strings"
)

// EnvDir is the environment variable that names the home.
const EnvDir = "PICOBOT_HOME"

// Resolve says which directory is the home: the flag's, else $PICOBOT_HOME,
// else ~/.picobot. getenv looks up an environment variable (os.Getenv).
func Resolve(flag string, getenv func(string) string) (string, error) {
	dir := flag
	if dir == "" {
		dir = getenv(EnvDir)
	}
	if dir == "" {
		dir = "~/.picobot"
	}
	// A value that comes from a unit file or a quoted argument has not been
	// through a shell, so the tilde is still there.
	rest, tilde := strings.CutPrefix(dir, "~")
	if !tilde || (rest != "" && rest[0] != '/') {
		return filepath.Abs(dir)
	}
	user := getenv("HOME")
	if user == "" {
		return "", errors.New("cannot tell your home directory because $HOME is not set: name a directory with --home or $" + EnvDir)
	}
	return filepath.Abs(filepath.Join(user, rest))
}
