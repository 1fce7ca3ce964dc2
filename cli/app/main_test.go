package app

import (
	"os"
	"testing"

	"picobot/internal/tools/proc"
)

func TestMain(m *testing.M) {
	proc.Main() // commands of the agent are run by this binary once more
	os.Exit(m.Run())
}
