package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// script runs temporal-dev.sh with a directory in front of $PATH that holds the
// given programs, each of which only prints its arguments.
func script(t *testing.T, programs []string, args ...string) (string, error) {
	t.Helper()
	path, err := filepath.Abs("../../temporal-dev.sh")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for _, p := range programs {
		if err := os.WriteFile(filepath.Join(bin, p), []byte("#!/bin/sh\necho "+p+" \"$@\"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(path, args...)
	cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "PICOBOT_BIN="}
	for _, p := range programs {
		if p == "picobot" {
			cmd.Env[1] = "PICOBOT_BIN=" + filepath.Join(bin, p)
		}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestTemporalDevUsesTheTemporalCLIElsePicoBot(t *testing.T) {
	out, err := script(t, []string{"temporal", "picobot"}, "--db-filename", "x y.db")
	if err != nil {
		t.Fatal(err, out)
	}
	for _, want := range []string{
		"temporal server start-dev", "--port 7233", "--ui-port 8233", "--db-filename x y.db",
		"PicobotSession=Keyword", "PicobotChannel=Keyword", "PicobotJob=Keyword",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in %q", want, out)
		}
	}
	if out, err := script(t, []string{"picobot"}, "--home", "h"); err != nil || out != "picobot temporal --home h\n" {
		t.Errorf("got %q, %v", out, err)
	}
	if out, err := script(t, nil, "--help"); err != nil || !strings.Contains(out, "usage:") {
		t.Errorf("got %q, %v", out, err)
	}
}
