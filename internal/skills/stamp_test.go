package skills

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Where the clock of a file system stands still between two edits, only the contents
// tell them apart.
func TestStamp_EditWithinOneTick_IsSeen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "SKILL.md")
	put := func(path, text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o644)) }
	// sameTick makes a stamp look as if the clock had not moved since.
	sameTick := func(s *stamp) {
		var there bool
		s.mark, there = markOf(s.path)
		require.True(t, there)
	}
	put(path, "one")
	file := look(path, time.Now())
	file.saw([]byte("one"))
	folder := look(dir, time.Now())
	folder.sawNames([]string{"SKILL.md"})
	require.False(t, file.changed(time.Now()))
	require.False(t, folder.changed(time.Now()))

	put(path, "two")
	sameTick(&file)
	require.True(t, file.changed(time.Now()))
	put(filepath.Join(dir, "more"), "")
	sameTick(&folder)
	require.True(t, folder.changed(time.Now()))

	// Once it was left alone for a while its contents are not read any more.
	put(path, "one")
	sameTick(&file)
	require.False(t, file.changed(time.Now().Add(time.Minute)))
	require.False(t, file.fresh)
}
