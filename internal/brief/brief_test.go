package brief_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/brief"
)

func TestOneLine_LeavesNothingThatMovesOrHidesText(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "",
		" \n\t ":                       "",
		"  two\r\n\twords \x1b[31m":    "two words [31m",
		"a\u202eb\u200bc\u2028d\ue000": "abc d",
		"bad \xff byte":                "bad byte",
		"lost \uFFFD sign":             "lost \uFFFD sign",
		"中文　字":                         "中文 字",
	} {
		require.Equal(t, want, brief.OneLine(text), "%q", text)
	}
	rapid.Check(t, func(t *rapid.T) {
		got := brief.OneLine(rapid.String().Draw(t, "text"))
		require.True(t, utf8.ValidString(got))
		require.False(t, strings.ContainsFunc(got, unicode.IsControl))
		require.Equal(t, got, brief.OneLine(got))
	})
}

func TestCut_IsNeverLongerThanThereIsRoom(t *testing.T) {
	require.Equal(t, "中文字", brief.Cut("中文字", 3))
	require.Equal(t, "中…", brief.Cut("中文字", 2))
	require.Empty(t, brief.Cut("中文字", 0))
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(0, 20).Draw(t, "most")
		require.LessOrEqual(t, utf8.RuneCountInString(brief.Cut(rapid.String().Draw(t, "text"), most)), most)
	})
}
