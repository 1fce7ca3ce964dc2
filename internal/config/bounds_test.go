package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/config"
)

// repeat joins n items made by item with commas.
func repeat(n int, item func(i int) string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = item(i)
	}
	return strings.Join(items, ",")
}

// Files within the size limit that would keep Load busy for minutes if anything were quadratic:
// the test ends, or go test's own time limit says where it is stuck.
func TestAHostileFileIsJudgedQuickly(t *testing.T) {
	for name, text := range map[string]string{
		"long key with many children":  `{"` + strings.Repeat("k", 500_000) + `":{` + repeat(40_000, func(i int) string { return fmt.Sprintf(`"%d":"${X}"`, i) }) + `}}`,
		"many wrong references":        `{"providers":{` + repeat(999, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `},"models":{` + repeat(999, func(i int) string { return fmt.Sprintf(`"m%d":{"provider":"q%d"}`, i, i) }) + `}}`,
		"nested references":            `{"workspace":"` + strings.Repeat("${A:-", 200_000) + `"}`,
		"many sources":                 `{"skills":{"sources":[` + repeat(100_000, func(i int) string { return fmt.Sprintf(`"s%d"`, i) }) + `]}}`,
		"many unknown keys":            `{` + repeat(90_000, func(i int) string { return fmt.Sprintf(`"k%d":1`, i) }) + `}`,
		"many jobs":                    `{"scheduler":{"jobs":[` + repeat(9_999, func(int) string { return `{"a":{"b":{"token":"c"}}}` }) + `]}}`,
		"a variable many times":        `{"workspace":"` + strings.Repeat("${BIG}", 140_000) + `"}`,
		"brackets in strings":          `{"workspace":"` + strings.Repeat("[{", 400_000) + `"}`,
		"many entries":                 `{"agents":{` + repeat(20_000, func(i int) string { return fmt.Sprintf(`"a%d":{}`, i) }) + `}}`,
		"comments without end":         `{} ` + strings.Repeat("/*", 400_000),
		"many duplicates of one entry": `{"agents":{` + repeat(90_000, func(int) string { return `"a":{}` }) + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c, err := load(t, text, "BIG="+strings.Repeat("/a", 2000))
			if err == nil {
				c.Secrets()
				c.Warnings()
			}
		})
	}
}

func TestListsAndEntriesAreBounded(t *testing.T) {
	require.Equal(t, []config.Problem{{Path: "skills.sources", Message: "must list at most 10000, not 10001"}},
		problemsOf(t, `{"skills":{"sources":[`+repeat(10_001, func(int) string { return `"user"` })+`]}}`))
	require.Equal(t, []config.Problem{{Path: "agents", Message: "must hold at most 1000 entries, not 1001"}},
		problemsOf(t, `{"agents":{`+repeat(1001, func(i int) string { return fmt.Sprintf(`"a%d":{}`, i) })+`}}`))
	require.Equal(t, []config.Problem{{Path: "workspace", Message: "the variables in this string make it longer than 1048576 bytes"}},
		problemsOf(t, `{"workspace":"`+strings.Repeat("${BIG}", 600)+`"}`, "BIG="+strings.Repeat("/a", 1000)))
}
