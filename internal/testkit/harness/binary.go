package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// EnvBinary names a binary to test instead of building one.
const EnvBinary = "PICOBOT_BIN"

// binary is built at most once in a test process: linking it takes a while.
var binary = sync.OnceValues(build)

// Main runs a package's tests and removes the binary afterwards. Call it from
// TestMain.
func Main(m *testing.M) int {
	defer func() {
		if os.Getenv(EnvBinary) != "" {
			return
		}
		if path, err := binary(); err == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}()
	return m.Run()
}

func build() (string, error) {
	if path := os.Getenv(EnvBinary); path != "" {
		return filepath.Abs(path)
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	dir, err := os.MkdirTemp("", "picobot-harness-")
	if err != nil {
		return "", fmt.Errorf("make a directory for the binary: %w", err)
	}
	path := filepath.Join(dir, "picobot")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Dir = strings.TrimSpace(string(root))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build picobot: %w\n%s", err, out)
	}
	return path, nil
}
