package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrintList_ColumnsStandBelowEachOtherInAnyLanguage(t *testing.T) {
	var b strings.Builder
	rows := [][]string{{"1", "中文标题", "here"}, {"2", "ascii", ""}, {"3", "é ｗ\n\u202e", "x"}}
	require.NoError(t, printList(&b, false, rows, []string{"ID", "TITLE", "WHERE"}, func(r []string) []string { return r }))
	require.Equal(t, "ID  TITLE     WHERE\n1   中文标题  here\n2   ascii\n3   é ｗ      x\n", b.String())
}
