package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/tools"
)

func fileTools(w *tools.Workspace) []tools.Tool {
	return []tools.Tool{tools.FileRead(w, 0), tools.FileWrite(w), tools.FileEdit(w)}
}

// anyArgs are arguments for each file tool with one path.
func anyArgs(tool tools.Tool, path string) args {
	switch tool.Name() {
	case "file_write":
		return args{"path": path, "content": "overwritten"}
	case "file_edit":
		return args{"path": path, "old_text": "secret", "new_text": "overwritten"}
	}
	return args{"path": path}
}

func TestNoPathLeadsOutOfTheWorkspace(t *testing.T) {
	w := openWorkspace(t)
	outside := filepath.Dir(w.Dir())
	secret := filepath.Join(outside, "secret.txt")
	put(t, w, "dir/inside.txt", "secret inside\n")
	for name, target := range map[string]string{
		"link.txt":     "../secret.txt",
		"abs.txt":      secret,
		"up":           "..",
		"absdir":       outside,
		"chain":        "link.txt",
		"dir/deep.txt": "../../secret.txt",
		"dir/self":     ".",
		"new.txt":      "../created.txt", // what it names does not exist
		"absnew.txt":   filepath.Join(outside, "created.txt"),
		"root":         "/",
		"proc":         "/proc/self/root",
		"loop1":        "loop2",
		"loop2":        "loop1",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(w.Dir(), name)))
	}
	for _, path := range []string{
		"../secret.txt", "../ws/../secret.txt", "dir/../../secret.txt", "./../secret.txt", "dir/../../secret.txt",
		"..//secret.txt", "a/b/../../../secret.txt", "..", "../", "../../../../../../../../etc/passwd", "~/../secret.txt",
		secret, outside, "/etc/passwd", "/", "//etc/passwd", "/proc/self/environ", "/proc/self/root" + secret, "/dev/null",
		w.Dir() + "/../secret.txt", w.Dir() + "x/secret.txt", w.Dir() + "/dir/../../secret.txt",
		"link.txt", "abs.txt", "up/secret.txt", "absdir/secret.txt", "chain", "dir/deep.txt", "dir/self/deep.txt",
		"root" + secret, "root/etc/passwd", "proc/etc/passwd", "up/ws/../secret.txt",
		"new.txt", "absnew.txt", "up/created.txt", "absdir/created.txt", "up/newdir/created.txt", "absdir/newdir/created.txt",
		"loop1", "loop1/x",
	} {
		for _, tool := range fileTools(w) {
			result := call(t, tool, anyArgs(tool, path))
			require.True(t, result.Failed, "%s %s: %s", tool.Name(), path, result.Content)
			require.NotContains(t, result.Content, "root:", path)
			require.NotContains(t, result.Content, "fault in PicoBot", path)
		}
	}
	require.Equal(t, "secret\n", content(t, secret))
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, entries, 2, "something was created outside")
	requireError(t, call(t, tools.FileRead(w, 0), args{"path": "../secret.txt"}), `"../secret.txt" is outside the workspace: use a path inside it`)
	requireError(t, call(t, tools.FileRead(w, 0), args{"path": "link.txt"}), `is outside the workspace`)
	requireError(t, call(t, tools.FileWrite(w), args{"path": "absnew.txt", "content": "x"}), `is outside the workspace`)
}

func TestPathsThatCannotBeAreExplained(t *testing.T) {
	w := openWorkspace(t)
	put(t, w, "file.txt", "x")
	for _, tool := range fileTools(w) {
		requireError(t, call(t, tool, anyArgs(tool, "")), "the path is empty")
		requireError(t, call(t, tool, anyArgs(tool, "a\x00b")), "NUL")
		requireError(t, call(t, tool, anyArgs(tool, ".")), "is a directory")
		requireError(t, call(t, tool, anyArgs(tool, "~")), "is a directory")
		requireError(t, call(t, tool, anyArgs(tool, "file.txt/x")), "not a directory")
		requireError(t, call(t, tool, anyArgs(tool, strings.Repeat("n", 300))), "too long")
		requireError(t, call(t, tool, anyArgs(tool, strings.Repeat("d/", 5000)+"x")), "the path is too long")
	}
	requireError(t, call(t, tools.FileRead(w, 0), args{"path": "missing.txt"}), "missing.txt does not exist")
	requireError(t, call(t, tools.FileEdit(w), anyArgs(tools.FileEdit(w), "a/missing.txt")), "a/missing.txt does not exist")
}

func TestPathsInsideTheWorkspaceAreAccepted(t *testing.T) {
	base := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(base, "real"), 0o755))
	require.NoError(t, os.Symlink("real", filepath.Join(base, "alias")))
	w, err := tools.OpenWorkspace(filepath.Join(base, "alias"), true)
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close()) }()
	put(t, w, "dir/a.txt", "hello")
	require.NoError(t, os.Symlink("dir", filepath.Join(w.Dir(), "link")))
	require.NoError(t, os.Symlink("../dir/a.txt", filepath.Join(w.Dir(), "dir/again")))
	for _, path := range []string{
		"dir/a.txt", "./dir//a.txt", "dir/../dir/a.txt", "link/a.txt", "dir/again", "~/dir/a.txt",
		filepath.Join(base, "real/dir/a.txt"), filepath.Join(base, "alias/dir/a.txt"),
	} {
		require.Equal(t, "hello", requireOK(t, call(t, tools.FileRead(w, 0), args{"path": path})), path)
		require.Regexp(t, "^replaced", requireOK(t, call(t, tools.FileWrite(w), args{"path": path, "content": "hello"})), path)
	}
	info, err := os.Lstat(filepath.Join(w.Dir(), "dir/again"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink, "writing through a link replaced it")
}

func TestAnUnrestrictedWorkspaceReachesEverything(t *testing.T) {
	w := openWorkspaceAt(t, false)
	outside := filepath.Dir(w.Dir())
	require.NoError(t, os.Symlink("/", filepath.Join(w.Dir(), "root")))
	put(t, w, "a.txt", "inside")
	for path, want := range map[string]string{
		"a.txt": "inside", "../secret.txt": "secret", filepath.Join(outside, "secret.txt"): "secret", "root" + outside + "/secret.txt": "secret",
	} {
		require.Equal(t, want, requireOK(t, call(t, tools.FileRead(w, 0), args{"path": path})), path)
	}
	require.Equal(t, "created ../new/b.txt (1 bytes)", strings.ReplaceAll(requireOK(t,
		call(t, tools.FileWrite(w), args{"path": "../new/b.txt", "content": "x"})), outside, ".."))
	require.Equal(t, "x", content(t, filepath.Join(outside, "new/b.txt")))
	requireError(t, call(t, tools.FileRead(w, 0), args{"path": "/"}), "is a directory")
	requireError(t, call(t, tools.FileRead(w, 0), args{"path": "/dev/zero"}), "is a device")
}

// A directory that becomes a link between the check and the use must not help.
func TestSwappingADirectoryForALinkDoesNotHelp(t *testing.T) {
	w := openWorkspace(t)
	outside := filepath.Dir(w.Dir())
	put(t, w, "real/secret.txt", "harmless\n")
	target := filepath.Join(w.Dir(), "swap")
	require.NoError(t, os.Symlink("real", filepath.Join(w.Dir(), "good")))
	require.NoError(t, os.Symlink(outside, filepath.Join(w.Dir(), "bad")))
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; !stop.Load(); i++ {
			name := []string{"good", "bad"}[i%2]
			link, _ := os.Readlink(filepath.Join(w.Dir(), name))
			temp := target + ".tmp"
			_ = os.Symlink(link, temp)
			_ = os.Rename(temp, target)
		}
	}()
	read, write := tools.FileRead(w, 0), tools.FileWrite(w)
	served, refused := 0, 0
	for deadline := time.Now().Add(20 * time.Second); (served < 50 || refused < 50) && time.Now().Before(deadline); {
		result := call(t, read, args{"path": "swap/secret.txt"})
		require.NotContains(t, result.Content, "secret\n")
		if result.Failed {
			refused++
		} else {
			require.Equal(t, "harmless", result.Content)
			served++
		}
		call(t, write, args{"path": "swap/secret.txt", "content": "harmless\n"})
	}
	stop.Store(true)
	<-done
	require.Equal(t, "secret\n", content(t, filepath.Join(outside, "secret.txt")))
	require.Positive(t, served)
	require.Positive(t, refused)
}

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	w := openWorkspace(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(w.Dir(), "fifo"), 0o644))
	require.NoError(t, os.Symlink("fifo", filepath.Join(w.Dir(), "tofifo")))
	socket, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	defer func() { _ = syscall.Close(socket) }()
	t.Chdir(w.Dir()) // socket addresses are short
	require.NoError(t, syscall.Bind(socket, &syscall.SockaddrUnix{Name: "socket"}))
	for path, want := range map[string]string{"fifo": "named pipe", "tofifo": "named pipe", "socket": "socket", ".": "directory"} {
		for _, tool := range fileTools(w) {
			done := make(chan tools.Result, 1)
			go func() { done <- call(t, tool, anyArgs(tool, path)) }()
			select {
			case result := <-done:
				requireError(t, result, want)
			case <-time.After(20 * time.Second):
				t.Fatalf("%s waits for %s", tool.Name(), path)
			}
		}
	}
}

func TestFileReadReturnsPlainLines(t *testing.T) {
	w := openWorkspace(t)
	var b strings.Builder
	for i := 1; i <= 100; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	put(t, w, "hundred.txt", b.String())
	put(t, w, "crlf.txt", "a\r\nb\r\n")
	put(t, w, "bom.txt", "\xEF\xBB\xBFtext")
	put(t, w, "empty.txt", "")
	put(t, w, "blank.txt", "\n\n\n")
	put(t, w, "latin.txt", "caf\xe9\n")
	put(t, w, "nonl.txt", "a\n\nb")
	put(t, w, "long.txt", "short\n"+strings.Repeat("飞", 5000)+"\nlast\n")
	put(t, w, "exact.txt", strings.Repeat("x", 2000)+"\n")
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"path": "nonl.txt"}, "a\n\nb"},
		{args{"path": "hundred.txt", "offset": 99}, "line 99\nline 100\n[lines 99-100 of 100]"},
		{args{"path": "hundred.txt", "limit": 2}, "line 1\nline 2\n[lines 1-2 of 100; continue with offset 3]"},
		{args{"path": "hundred.txt", "offset": 50, "limit": 1}, "line 50\n[lines 50-50 of 100; continue with offset 51]"},
		{args{"path": "hundred.txt", "offset": 0, "limit": 1}, "line 1\n[lines 1-1 of 100; continue with offset 2]"},
		{args{"path": "hundred.txt", "offset": 100, "limit": 5}, "line 100\n[lines 100-100 of 100]"},
		{args{"path": "crlf.txt"}, "a\nb\n[CRLF line endings]"},
		{args{"path": "bom.txt"}, "text"},
		{args{"path": "empty.txt"}, "[the file is empty]"},
		{args{"path": "blank.txt"}, "\n\n\n[lines 1-3 of 3; all blank]"},
		{args{"path": "latin.txt"}, "caf\uFFFD\n[not valid UTF-8: unreadable bytes are shown as \uFFFD]"},
		{args{"path": "long.txt"}, "short\n" + strings.Repeat("飞", 2000) + " [... 8.8 KiB of this line left out ...]\nlast"},
		{args{"path": "exact.txt"}, strings.Repeat("x", 2000)},
	} {
		require.Equal(t, c.want, requireOK(t, call(t, tools.FileRead(w, 0), c.args)), "%v", c.args)
	}
	requireError(t, call(t, tools.FileRead(w, 0), args{"path": "hundred.txt", "offset": 101}), "offset 101 is past the end: hundred.txt has 100 lines")
	requireError(t, call(t, tools.FileRead(w, 0), args{"path": "empty.txt", "offset": 2}), "has 0 lines")
	requireError(t, call(t, tools.FileRead(w, 0), args{"path": "hundred.txt", "offset": -1}), `"offset"`)
	requireError(t, call(t, tools.FileRead(w, 0), args{"path": "hundred.txt", "limit": 0}), `"limit"`)
}

func TestFileReadRefusesBinaryFiles(t *testing.T) {
	w := openWorkspace(t)
	for name, data := range map[string]string{
		"image/png":       "\x89PNG\r\n\x1a\n1234567890",
		"application/pdf": "%PDF-1.7 text",
		"binary":          "text\x00text",
		"UTF-16 text":     "\xff\xfet\x00e\x00",
	} {
		put(t, w, "file", data)
		requireError(t, call(t, tools.FileRead(w, 0), args{"path": "file"}), name)
	}
	for _, text := range []string{"<html>", "%!PS-Adobe-", "\x1b[31mred\x1b[0m", "back\bspace", "{}", "#!/bin/sh"} {
		put(t, w, "file", text)
		requireOK(t, call(t, tools.FileRead(w, 0), args{"path": "file"}))
	}
}

func TestFileReadFillsTheResultAndSaysWhereToGoOn(t *testing.T) {
	w := openWorkspace(t)
	var b strings.Builder
	for i := 1; i <= 100000; i++ {
		fmt.Fprintf(&b, "line %d 飞书\n", i)
	}
	put(t, w, "big.txt", b.String())
	// Following the offsets gives the whole file, and no result is cut.
	r := registry(t, tools.Options{MaxResultChars: 100000}, tools.FileRead(w, 100000))
	var whole strings.Builder
	for offset := 1; offset > 0; {
		text, err := json.Marshal(args{"path": "big.txt", "offset": offset})
		require.NoError(t, err)
		got := requireOK(t, r.Run(t.Context(), tools.Call{}, "file_read", string(text)))
		require.NotContains(t, got, "left out")
		lines, note, _ := strings.Cut(got, "\n[")
		whole.WriteString(lines + "\n")
		offset = 0
		if _, rest, ok := strings.Cut(note, "continue with offset "); ok {
			_, err := fmt.Sscanf(rest, "%d]", &offset)
			require.NoError(t, err)
		}
	}
	require.Equal(t, b.String(), whole.String())
}

func TestFileReadStopsWithItsContext(t *testing.T) {
	w := openWorkspace(t)
	put(t, w, "big.txt", strings.Repeat("x\n", 10<<20))
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		time.Sleep(time.Millisecond)
		cancel(tools.ErrCancelled)
	}()
	result := registry(t, tools.Options{}, tools.FileRead(w, 0)).Run(ctx, tools.Call{}, "file_read", `{"path":"big.txt","offset":99999999}`)
	require.True(t, result.Failed)
}

func TestFileWriteCreatesAndReplaces(t *testing.T) {
	w := openWorkspace(t)
	write := tools.FileWrite(w)
	require.Equal(t, "created a/b/c.txt (6 bytes)", requireOK(t, call(t, write, args{"path": "a/b/c.txt", "content": "hello\n"})))
	path := filepath.Join(w.Dir(), "a/b/c.txt")
	require.Equal(t, "hello\n", content(t, path))
	require.Equal(t, "replaced a/b/c.txt (0 bytes, before 6 bytes)", requireOK(t, call(t, write, args{"path": "a/b/c.txt", "content": ""})))
	require.Empty(t, content(t, path))
	requireOK(t, call(t, write, args{"path": "crlf.txt", "content": "a\r\nb\n"}))
	require.Equal(t, "a\r\nb\n", content(t, filepath.Join(w.Dir(), "crlf.txt")))
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "a temporary file was left behind")
}

func TestFileWriteKeepsPermissions(t *testing.T) {
	w := openWorkspace(t)
	for _, mode := range []os.FileMode{0o755, 0o600, 0o664, 0o777} {
		path := put(t, w, "script.sh", "old")
		require.NoError(t, os.Chmod(path, mode))
		requireOK(t, call(t, tools.FileWrite(w), args{"path": "script.sh", "content": "new"}))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode())
	}
	path := put(t, w, "fixed.txt", "old")
	require.NoError(t, os.Chmod(path, 0o444))
	requireError(t, call(t, tools.FileWrite(w), args{"path": "fixed.txt", "content": "new"}), "read-only")
	require.Equal(t, "old", content(t, path))
}

// Readers see a whole file at any time, and the links of the path decide where it is.
func TestFileWriteIsAtomicAndFollowsLinks(t *testing.T) {
	w := openWorkspace(t)
	put(t, w, "elsewhere/deep/x.txt", "aaaa")
	require.NoError(t, os.Symlink("elsewhere/deep", filepath.Join(w.Dir(), "dir")))
	// From the link's own directory "../y.txt" is elsewhere/y.txt, not y.txt.
	require.NoError(t, os.Symlink("../y.txt", filepath.Join(w.Dir(), "elsewhere/deep/link")))
	requireOK(t, call(t, tools.FileWrite(w), args{"path": "dir/link", "content": "y"}))
	require.Equal(t, "y", content(t, filepath.Join(w.Dir(), "elsewhere/y.txt")))
	require.NoFileExists(t, filepath.Join(w.Dir(), "y.txt"))

	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 100 {
			call(t, tools.FileWrite(w), args{"path": "dir/x.txt", "content": strings.Repeat(string(rune('a'+i%2)), 4)})
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		require.Contains(t, []string{"aaaa", "bbbb"}, content(t, filepath.Join(w.Dir(), "elsewhere/deep/x.txt")))
	}
}

func TestFileEditReplacesOneMatch(t *testing.T) {
	w := openWorkspace(t)
	path := put(t, w, "a.go", "package a\n\nfunc f() {\n\treturn 1\n}\n")
	require.NoError(t, os.Chmod(path, 0o750))
	got := requireOK(t, call(t, tools.FileEdit(w), args{"path": "a.go", "old_text": "return 1", "new_text": "return 2"}))
	require.Equal(t, "changed a.go\n--- a.go\n+++ a.go\n@@ -1,5 +1,5 @@\n package a\n \n func f() {\n-\treturn 1\n+\treturn 2\n }", got)
	require.Equal(t, "package a\n\nfunc f() {\n\treturn 2\n}\n", content(t, path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o750), info.Mode())

	requireOK(t, call(t, tools.FileEdit(w), args{"path": "a.go", "old_text": "func f() {\n\treturn 2\n}\n", "new_text": ""}))
	require.Equal(t, "package a\n\n", content(t, path))
}

func TestFileEditExplainsWhatItCannotDo(t *testing.T) {
	w := openWorkspace(t)
	path := put(t, w, "a.txt", "one\n\ttwo words here\none\nthree\none\n")
	edit := func(more args) tools.Result {
		a := args{"path": "a.txt", "old_text": "one", "new_text": "1"}
		for k, v := range more {
			a[k] = v
		}
		return call(t, tools.FileEdit(w), a)
	}
	requireError(t, edit(nil), "old_text occurs 3 times in a.txt (lines 1, 3, 5): add lines around it until it is unique, or set replace_all")
	requireError(t, edit(args{"old_text": "    two words here"}), `old_text was not found in a.txt (closest is line 2: "\ttwo words here")`)
	requireError(t, edit(args{"old_text": "\n  two word hers\nx"}), `closest is line 2`)
	requireError(t, edit(args{"old_text": "zzz"}), "old_text was not found in a.txt: give it exactly as file_read shows it")
	requireError(t, edit(args{"old_text": "\n\n\n"}), "was not found")
	requireError(t, edit(args{"old_text": ""}), "old_text is empty")
	requireError(t, edit(args{"new_text": "one"}), "the same")
	requireError(t, edit(args{"old_text": "one\n\ttwo", "new_text": "one\r\n\ttwo"}), "line endings only")
	require.Equal(t, "one\n\ttwo words here\none\nthree\none\n", content(t, path))

	put(t, w, "many.txt", strings.Repeat("x\n", 50))
	requireError(t, call(t, tools.FileEdit(w), args{"path": "many.txt", "old_text": "x", "new_text": "y"}), "lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …)")
	put(t, w, "huge.txt", strings.Repeat("x", 9<<20))
	requireError(t, call(t, tools.FileEdit(w), args{"path": "huge.txt", "old_text": "x", "new_text": "y"}), "too large (9.0 MiB, at most 8.0 MiB)")
}

func TestFileEditReplacesAllMatches(t *testing.T) {
	w := openWorkspace(t)
	path := put(t, w, "a.txt", strings.Repeat("aXb\n", 1000))
	got := requireOK(t, call(t, tools.FileEdit(w), args{"path": "a.txt", "old_text": "X", "new_text": "飞飞", "replace_all": true}))
	require.Equal(t, strings.Repeat("a飞飞b\n", 1000), content(t, path))
	require.True(t, strings.HasPrefix(got, "changed a.txt in 1000 places\n"))
	require.Contains(t, got, "rest of the diff left out")
	require.Less(t, len(got), 8000)
}

func TestFileEditKeepsLineEndings(t *testing.T) {
	w := openWorkspace(t)
	for _, c := range []struct{ name, file, old, new, want string }{
		{"CRLF", "a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n"},
		{"CRLF in both", "a\r\nb\r\nc\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\nc\r\n"},
		{"CRLF, match begins at a line end", "a\r\nb\r\nc", "\nb\n", "\nB\nB2\n", "a\r\nB\r\nB2\r\nc"},
		{"CRLF, later line", "a\r\nb\r\nc\r\nd", "c", "C", "a\r\nb\r\nC\r\nd"},
		{"LF", "a\nb\n", "a\nb", "x\r\ny", "x\ny\n"},
		{"mixed, mostly LF", "a\nb\r\nc\nd\n", "b\nc", "x\ny", "a\nx\ny\nd\n"},
		{"mixed, mostly CRLF", "a\r\nb\nc\r\n", "b\nc", "x\ny", "a\r\nx\r\ny\r\n"},
		{"CR in the line", "a\rb\r\r\nc\r\n", "c", "C", "a\rb\r\r\nC\r\n"},
		{"no final newline", "a\nb", "b", "c", "a\nc"},
		{"BOM", "\xEF\xBB\xBFa\r\n", "a", "b", "\xEF\xBB\xBFb\r\n"},
		{"bytes that are no UTF-8", "caf\xe9\na\n", "a\n", "b\n", "caf\xe9\nb\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := put(t, w, "file", c.file)
			result := call(t, tools.FileEdit(w), args{"path": "file", "old_text": c.old, "new_text": c.new})
			requireOK(t, result)
			require.Equal(t, c.want, content(t, path))
		})
	}
	path := put(t, w, "all", "x\r\nx\r\nx\r\n")
	got := requireOK(t, call(t, tools.FileEdit(w), args{"path": "all", "old_text": "x\n", "new_text": "y\n", "replace_all": true}))
	require.Equal(t, "y\r\ny\r\ny\r\n", content(t, path))
	require.NotContains(t, got, "\r")
}

func FuzzPaths(f *testing.F) {
	for _, s := range []string{"a", "../secret.txt", "/etc/passwd", "~/x", "a/../../secret.txt", "./.", "link/x", "\x00", "//", "~", "~x", "a\\..\\b"} {
		f.Add(s)
	}
	w := openWorkspace(f)
	outside := filepath.Dir(w.Dir())
	require.NoError(f, os.Symlink("..", filepath.Join(w.Dir(), "link")))
	read, write := tools.FileRead(w, 0), tools.FileWrite(w)
	f.Fuzz(func(t *testing.T, path string) {
		require.NotContains(t, call(t, read, args{"path": path}).Content, "secret\n")
		call(t, write, args{"path": path, "content": "x"})
		require.Equal(t, "secret\n", content(t, filepath.Join(outside, "secret.txt")))
		entries, err := os.ReadDir(outside)
		require.NoError(t, err)
		require.Len(t, entries, 2)
	})
}
