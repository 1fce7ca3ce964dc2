// Package docs_test checks what can be checked of the documents.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every test and benchmark that a document names is there.
func TestDocuments_NameTestsThatExist(t *testing.T) {
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(source), -1) {
			there[m[1]] = true
		}
		return err
	}))
	documents, err := filepath.Glob("*.md")
	require.NoError(t, err)
	require.NotEmpty(t, documents)
	named := regexp.MustCompile("`((?:Test|Benchmark|Fuzz)[A-Z_]\\w+)`")
	n := 0
	for _, name := range documents {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			n++
			require.True(t, there[m[1]], "%s names %s, which is not there", name, m[1])
		}
	}
	require.Greater(t, n, 40)
}

// A link into the tree leads to a file that is there, and to a heading of it.
func TestDocuments_Links_LeadSomewhere(t *testing.T) {
	documents, err := filepath.Glob("*.md")
	require.NoError(t, err)
	above, err := filepath.Glob("../*.md")
	require.NoError(t, err)
	link := regexp.MustCompile(`\]\(([^)\s:]*)\)`) // what has a colon leads elsewhere
	n := 0
	for _, name := range append(documents, above...) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			n++
			file, heading, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = filepath.Join(filepath.Dir(name), file)
			}
			_, err := os.Stat(target)
			require.NoError(t, err, "%s: %s", name, m[1])
			if heading != "" {
				require.Contains(t, headings(t, target), heading, "%s: %s", name, m[1])
			}
		}
	}
	require.Greater(t, n, 100)
}

// headings are the anchors of a document, as GitHub makes them.
func headings(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		kept := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, strings.ReplaceAll(kept, " ", "-"))
	}
	return out
}
