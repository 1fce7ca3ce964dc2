package cli

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrintList_ColumnsStandBelowEachOtherInAnyLanguage(t *testing.T) {
	var b strings.Builder
	rows := [][]string{{"1", "中文标题", "here"}, {"2", "ascii", ""}, {"3", "é ｗ\n\u202e", "x"}}
	require.NoError(t, printList(&b, false, rows, []string{"ID", "TITLE", "WHERE"}, func(r []string) []string { return r }))
	require.Equal(t, "ID  TITLE     WHERE\n1   中文标题  here\n2   ascii\n3   é ｗ      x\n", b.String())
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestOutputThatCannotBeWritten_IsAFailureOfEveryCommand(t *testing.T) {
	for line, want := range map[string]int{
		"doctor": 1, "doctor --json": 1, "--help": 1, "jobs --help": 1, "version": 1, "config show": 1,
		"gateway": 0, // which goes on serving
	} {
		h := newHarness(t)
		h.config(`{"gateway": {"addr": "127.0.0.1:0"}}`)
		h.stdout = fullDisk{}
		r := h.run(strings.Fields(line)...)
		if r.code != want || want == 1 && !strings.Contains(r.stderr, "no space left on device") {
			t.Errorf("%s: %+v", line, r)
		}
	}
}
