package harness

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Harness is one installation of PicoBot: a home that is empty at first, and a
// configuration beside it.
type Harness struct {
	tb     testing.TB
	bin    string
	root   string
	Home   string            // PicoBot's home
	Env    map[string]string // all of the environment of what is run
	config map[string]any
}

// Patience is how long anything here may take before the test fails.
const Patience = 60 * time.Second

// New makes an installation. Its ports are free ones and its environment holds no
// keys; nothing of the machine's own PicoBot is touched.
func New(tb testing.TB) *Harness {
	tb.Helper()
	bin, err := binary()
	if err != nil {
		tb.Fatal(err)
	}
	root := tb.TempDir()
	h := &Harness{
		tb:   tb,
		bin:  bin,
		root: root,
		Home: filepath.Join(root, "home"),
		Env: map[string]string{
			"PATH": os.Getenv("PATH"), "HOME": filepath.Join(root, "user"), "TMPDIR": tb.TempDir(), "LANG": "C.UTF-8",
		},
		config: map[string]any{
			"gateway":  map[string]any{"addr": "127.0.0.1:0"},
			"temporal": map[string]any{"address": "127.0.0.1:0", "ui_addr": "127.0.0.1:0"},
		},
	}
	for _, dir := range []string{h.Env["HOME"], h.WorkDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	h.writeConfig()
	return h
}

// Configure sets sections of the configuration, each as a whole; a nil one is
// removed.
func (h *Harness) Configure(sections map[string]any) {
	h.tb.Helper()
	maps.Copy(h.config, sections)
	maps.DeleteFunc(h.config, func(_ string, v any) bool { return v == nil })
	h.writeConfig()
}

func (h *Harness) writeConfig() {
	h.tb.Helper()
	text, err := json.MarshalIndent(h.config, "", "  ")
	if err != nil {
		h.tb.Fatal(err)
	}
	h.WriteFile(h.ConfigFile(), string(text))
}

// ConfigFile is what every command line is given with --config. It is not in the
// home, so that the home is empty at first.
func (h *Harness) ConfigFile() string { return filepath.Join(h.root, "config.json") }

// WorkDir is where command lines are run.
func (h *Harness) WorkDir() string { return filepath.Join(h.root, "work") }

// Workspace is where the agent's tools work.
func (h *Harness) Workspace() string { return filepath.Join(h.Home, "workspace") }

// WriteFile writes a file that only its owner may read.
func (h *Harness) WriteFile(path, text string) {
	h.tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.tb.Fatal(err)
	}
}

// Eventually waits until ok is true.
func (h *Harness) Eventually(what string, ok func() bool) {
	h.tb.Helper()
	deadline := time.Now().Add(Patience)
	for !ok() {
		if time.Now().After(deadline) {
			h.tb.Fatalf("this did not happen within %s: %s", Patience, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
