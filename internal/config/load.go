package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"picobot/internal/schedule"
)

// Source says where a configuration comes from.
type Source struct {
	Home    string                      // PicoBot's home: holds config.json and the default workspace
	File    string                      // from --config; "" = Home/config.json, else WorkDir/config.json, else defaults
	WorkDir string                      // "" = the working directory of the process
	Env     func(string) (string, bool) // environment, usually os.LookupEnv; nil = empty
	// Client is for whoever only looks at a home or talks to its gateway, often in a shell
	// without the variables that the gateway was started with: one that is missing is a
	// problem only where a client needs the value. Config.Absent tells of the others.
	Client bool
}

// Load reads, completes and checks the configuration. Everything that is wrong with
// it comes back at once as an *Error; a file that cannot be read is another error.
func Load(src Source) (Config, error) {
	if src.Env == nil {
		src.Env = noEnv
	}
	file, text, err := src.read()
	if err != nil {
		return Config{}, err
	}
	c, err := src.parse(file, text)
	if err != nil {
		return Config{}, err
	}
	if w, wrong := readableByOthers(c, text); wrong {
		c.origin.warnings = append(c.origin.warnings, w)
	}
	return c, nil
}

// read finds the file and returns its name and text, "" and nil when there is none.
func (src Source) read() (string, []byte, error) {
	if src.File != "" {
		text, err := readBounded(src.File)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil, fmt.Errorf("config file %s does not exist; create it or leave out --config: %w", src.File, err)
		}
		return src.File, text, unreadable(err)
	}
	var candidates []string
	if src.Home != "" {
		candidates = append(candidates, filepath.Join(src.Home, "config.json"))
	}
	candidates = append(candidates, filepath.Join(src.WorkDir, "config.json"))
	for _, file := range candidates {
		text, err := readBounded(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return file, text, unreadable(err)
	}
	return "", nil, nil
}

// unreadable says what to do about a file that is there.
func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the configuration cannot be read, make it a readable file or name another one with --config or --home: %w", err)
}

// readBounded reads at most one byte more than a file may have, so that the parser
// can tell that it is too large.
func readBounded(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // opened for reading only
	return io.ReadAll(io.LimitReader(f, maxFileBytes+1))
}

func (src Source) lookup(name string) string {
	value, _ := src.Env(name)
	return value
}

// parse makes a configuration of the text of a file; file "" means that there is none.
func (src Source) parse(file string, text []byte) (Config, error) {
	found := newProblems()
	if src.Client {
		found.dispensable = dispensable
	}
	c := defaults()
	c.origin = origin{file: file, named: map[string]bool{}, zone: schedule.LocalZone(src.lookup)}
	if file != "" {
		root := treeParser{env: src.Env, problems: found}.parse(text)
		if root == nil {
			return Config{}, found.err(file)
		}
		decoder{problems: found, named: c.origin.named}.value(root, reflect.ValueOf(&c).Elem(), "")
	}
	r := resolver{cfg: &c, problems: found, env: src.Env}
	r.models()
	r.paths(src.Home, filepath.Dir(file))
	validator{cfg: &c, problems: found, unset: r.unset, unresolved: r.unresolved}.all()
	if err := found.err(file); err != nil {
		return Config{}, err
	}
	c.origin.absent = found.absent.err(file)
	return c, nil
}
