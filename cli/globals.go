package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"picobot/cli/app"
	"picobot/cli/logging"
	"picobot/internal/config"
	"picobot/internal/home"
	"picobot/internal/text"
)

// globals are the flags that every command has.
type globals struct {
	home       string
	configFile string
	log        logging.Options
	logFile    string
}

func (g *globals) register(flags *pflag.FlagSet) {
	flags.StringVar(&g.home, "home", "", "PicoBot's `directory` (default $PICOBOT_HOME, else ~/.picobot)")
	flags.StringVar(&g.configFile, "config", "", "configuration `file` (default config.json in the home, else ./config.json)")
	flags.StringVar(&g.log.Level, "log-level", "info", "what to log: debug, info, warn or error")
	flags.StringVar(&g.log.Format, "log-format", logging.FormatText, "how to log: text or json")
	flags.StringVar(&g.logFile, "log-file", "", "log to this `file`, which is put aside when it has grown large, instead of standard error")
}

// findHome says which directory is the home, without making it.
func (g *globals) findHome(sys System) (home.Home, error) {
	dir, err := home.Resolve(g.home, sys.getenv)
	if err != nil {
		return home.Home{}, err
	}
	return home.At(dir)
}

// loadConfig reads the configuration of a home.
func (g *globals) loadConfig(sys System, h home.Home) (config.Config, error) {
	return config.Load(g.source(sys, h))
}

// loadClientConfig reads as much of the configuration of a home as a command needs
// that only looks at it or talks to its gateway.
func (g *globals) loadClientConfig(sys System, h home.Home) (config.Config, error) {
	src := g.source(sys, h)
	src.Client = true
	return config.Load(src)
}

// words are the texts of a home's language; of a home whose configuration cannot be
// read they are English.
func (g *globals) words(sys System, h home.Home) *text.Catalogue {
	cfg, err := g.loadClientConfig(sys, h)
	if err != nil {
		return text.For(text.English)
	}
	return text.For(cfg.Locale)
}

func (g *globals) source(sys System, h home.Home) config.Source {
	return config.Source{Home: h.Dir, File: g.configFile, WorkDir: sys.WorkDir, Env: sys.Env}
}

// prepare makes the home and reads its configuration: what every command that
// works in a home begins with. The scrubber knows the configuration's secrets.
func (g *globals) prepare(sys System) (app.Options, error) { return g.prepareWith(sys, g.loadConfig) }

// prepareClient is prepare for a command that is a gateway only where none runs. Before
// it becomes one it has to look at Config.Absent.
func (g *globals) prepareClient(sys System) (app.Options, error) {
	return g.prepareWith(sys, g.loadClientConfig)
}

func (g *globals) prepareWith(sys System, load func(System, home.Home) (config.Config, error)) (app.Options, error) {
	h, err := g.findHome(sys)
	if err != nil {
		return app.Options{}, err
	}
	// The configuration comes first: one that is wrong must not leave directories behind.
	cfg, err := load(sys, h)
	if err != nil {
		return app.Options{}, err
	}
	if h, err = home.Open(h.Dir); err != nil {
		return app.Options{}, err
	}
	scrub := logging.NewScrubber(cfg.Secrets()...)
	return app.Options{
		Home:    h,
		WorkDir: sys.workDir(), UserHome: sys.getenv("HOME"),
		Config:  cfg,
		Version: sys.Build.Version,
		Now:     sys.Now,
		Env:     sys.Env,
		Build:   sys.Build.Version + " " + sys.Build.Commit,
		Scrub:   scrub,
		Say:     func(text string) { _, _ = fmt.Fprintln(sys.Stderr, text) },
	}, nil
}

// logger returns the logger of a command that stays up, and what closes it. Without
// --log-file it writes to otherwise; "" = standard error.
func (g *globals) logger(sys System, o app.Options, otherwise string) (*slog.Logger, func() error, error) {
	path := g.logFile
	if path == "" {
		path = otherwise
	}
	if path == "" {
		log, err := logging.New(sys.Stderr, g.log, o.Scrub)
		return log, func() error { return nil }, err
	}
	file, err := logging.OpenFile(path)
	if err != nil {
		return nil, nil, err
	}
	log, err := logging.New(file, g.log, o.Scrub)
	return log, file.Close, err
}

// writeNew writes a file that only its owner may read. Unless overwrite is set, a
// file that exists is left alone and the error wraps fs.ErrExist.
func writeNew(path, text string, overwrite bool) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	flag := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if overwrite {
		// Removed first: an old file keeps its mode, which may be too open.
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("replace file: %w", err)
		}
	}
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
