package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Confinement is what a command, and everything it starts, may touch. All that is
// not hidden can be read; nothing can be written but what is named here. All paths
// are absolute.
type Confinement struct {
	// Hide can neither be read nor listed nor written, wherever links lead.
	Hide []string `json:"hide"`
	// Read can be read although it lies in something hidden.
	Read []string `json:"read"`
	// Write can be read and written. None of it may hold something hidden.
	Write []string `json:"write"`
	// Scratch is like Write; what holds something hidden is left out.
	Scratch []string `json:"scratch"`
}

// Support is what this system's kernel can do.
type Support struct {
	// ABI is the version of Landlock, 0 where there is none.
	ABI int
	// Reason is why commands cannot be confined; "" when they can.
	Reason string
	// Gaps are what confined commands can still do here, as sentences.
	Gaps []string
}

// Check returns an error when the confinement contradicts itself.
func (c Confinement) Check() error {
	for _, path := range append(append(append([]string{}, c.Hide...), c.Read...), c.Write...) {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("confinement: the path %q is not absolute", path)
		}
	}
	for _, path := range append(append([]string{}, c.Write...), c.Read...) {
		if hidden, ok := c.held(path); ok {
			return fmt.Errorf("%s holds %s, which commands must not see: keep them apart", filepath.Base(path), filepath.Base(hidden))
		}
	}
	return nil
}

// Holds reports whether something hidden is path or lies in it.
func (c Confinement) Holds(path string) bool {
	_, ok := c.held(path)
	return ok
}

func (c Confinement) held(path string) (string, bool) {
	path = resolve(path)
	for _, hidden := range c.Hide {
		if within(path, resolve(hidden)) {
			return hidden, true
		}
	}
	return "", false
}

// within reports whether path is dir or lies in it, by their letters.
func within(dir, path string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(relative)
}

// resolve follows the links of what exists of a path.
func resolve(path string) string {
	path = filepath.Clean(path)
	missing := ""
	for existing := path; ; existing = filepath.Dir(existing) {
		real, err := filepath.EvalSymlinks(existing)
		if err == nil {
			return filepath.Join(real, missing)
		}
		if !errors.Is(err, fs.ErrNotExist) || existing == filepath.Dir(existing) {
			return path
		}
		missing = filepath.Join(filepath.Base(existing), missing)
	}
}

// next returns the first element of the way from dir to path, which lies in it.
func next(dir, path string) string {
	relative, err := filepath.Rel(dir, path)
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(relative, string(filepath.Separator))
	return name
}
