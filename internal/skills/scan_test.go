package skills

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestScan_TooMuch_IsBoundedAndSaysSoFirst(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		folder := filepath.Join(dir, fmt.Sprintf("s%02d", i))
		require.NoError(t, os.MkdirAll(folder, 0o755))
		require.NoError(t, os.WriteFile(folder+"/SKILL.md", []byte("---\ndescription: x\n---\ny"), 0o644))
		require.NoError(t, os.MkdirAll(filepath.Join(dir, fmt.Sprintf("empty%02d", i)), 0o755))
	}
	source := Source{Name: "user", Base: dir, Path: "."}
	s := scanSource(source, time.Now(), limits{folders: 30, skills: 100})
	require.Len(t, s.skills, 9, "20 empty folders come first, and the source is one")
	require.Equal(t, "there are more than 30 folders; the rest was not looked at", s.problems[0].Message)
	s = scanSource(source, time.Now(), limits{folders: 100, skills: 7})
	require.Len(t, s.skills, 7)
	require.Equal(t, "there are more than 7 skills; the rest was not read", s.problems[0].Message)
	require.Len(t, scanSource(source, time.Now(), sourceLimits()).skills, 20)
}
