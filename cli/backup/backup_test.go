package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"picobot/internal/home"
	"picobot/store"
)

var now = time.UnixMilli(1_796_000_000_000)

// newHome makes a home with something of everything, open as by a gateway.
func newHome(t *testing.T) (home.Home, *store.Store) {
	t.Helper()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	require.NoError(t, err)
	for name, text := range map[string]string{
		"config.json": "{}", "agent/AGENT.md": "be good", "skills/a/SKILL.md": "a", "skills/a/run.sh": "#!/bin/sh", "skill-state.json": "{}",
		"media/ab/abcd.png": "png", "workspace/sub/notes.txt": "notes", "gateway.token": "tok", "client.id": "me", "temporal.key": "key",
		"logs/gateway.log": "log", "temporal/temporal.db": "t", "history": "h", "storage/sessions.db.before-3": "old",
	} {
		path := filepath.Join(h.Dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	require.NoError(t, os.Chmod(filepath.Join(h.Dir, "skills", "a", "run.sh"), 0o755))
	s, err := store.Open(t.Context(), store.Options{Path: h.StorageDB(), Now: time.Now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	_, err = s.Accept(t.Context(), store.Inbound{Channel: "cli", ChatID: "c", ExternalID: "1", SenderID: "me", Content: "hi"})
	require.NoError(t, err)
	return h, s
}

func back(t *testing.T, h home.Home, workspace bool) (file string, notes []string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "b.tar.gz")
	_, err := Write(t.Context(), Options{Home: h, File: file, Workspace: workspace, Version: "v1", Now: now, Note: func(text string) { notes = append(notes, text) }})
	require.NoError(t, err)
	return file, notes
}

// tree lists what is in a directory, without the record and locks.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if strings.HasPrefix(name, "storage/sessions.db") || strings.HasSuffix(name, ".lock") {
			return nil
		}
		text, err := os.ReadFile(path)
		out[filepath.ToSlash(name)] = string(text)
		return err
	}))
	return out
}

func TestBackup_OfARunningHome_IsRestored(t *testing.T) {
	h, _ := newHome(t)
	lock, err := h.Lock(home.Owner{})
	require.NoError(t, err)
	defer func() { _ = lock.Unlock() }()
	for _, workspace := range []bool{false, true} {
		file, notes := back(t, h, workspace)
		require.Empty(t, notes)
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), "there are keys in it")
		left, err := os.ReadDir(filepath.Dir(file))
		require.NoError(t, err)
		require.Len(t, left, 1, "nothing is left beside it")

		to, err := home.At(filepath.Join(t.TempDir(), "deep", "new"))
		require.NoError(t, err)
		got, err := Restore{Home: to, File: file, Now: now}.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, now.UnixMilli(), got.CreatedAt)
		require.Equal(t, int64(1), got.Waiting)
		want := tree(t, h.Dir)
		for name := range want {
			if strings.HasPrefix(name, "logs/") || strings.HasPrefix(name, "temporal") || !workspace && strings.HasPrefix(name, "workspace/") {
				delete(want, name)
			}
		}
		require.Equal(t, want, tree(t, to.Dir))
		for name, mode := range map[string]fs.FileMode{"skills/a/run.sh": 0o700, "gateway.token": 0o600, "storage/sessions.db": 0o600, "agent": 0o700 | fs.ModeDir, ".": 0o700 | fs.ModeDir} {
			info, err := os.Stat(filepath.Join(to.Dir, name))
			require.NoError(t, err)
			require.Equal(t, mode, info.Mode(), name)
		}
		s, err := store.Open(t.Context(), store.Options{Path: to.StorageDB(), Now: time.Now})
		require.NoError(t, err)
		waiting, err := s.Unfinished(t.Context(), 0)
		require.NoError(t, err)
		require.Len(t, waiting, 1)
		require.NoError(t, s.Close())
	}
}

func TestBackup_WhatCannotBeKept_IsTold(t *testing.T) {
	h, _ := newHome(t)
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(h.SkillsDir(), "link")))
	file, notes := back(t, h, false)
	require.Len(t, notes, 1)
	require.Contains(t, notes[0], "skills/link")
	to, err := home.At(filepath.Join(t.TempDir(), "new"))
	require.NoError(t, err)
	_, err = Restore{Home: to, File: file, Now: now}.Run(t.Context())
	require.NoError(t, err)
}

func TestBackup_NeverOverWhatIsThere(t *testing.T) {
	h, _ := newHome(t)
	file, _ := back(t, h, false)
	o := Options{Home: h, File: file, Now: now, Note: func(string) {}}
	_, err := Write(t.Context(), o)
	require.ErrorContains(t, err, "--force")
	o.Replace = true
	_, err = Write(t.Context(), o)
	require.NoError(t, err)
	o.File = filepath.Join(h.MediaDir(), "b.tar.gz")
	_, err = Write(t.Context(), o)
	require.ErrorContains(t, err, "outside of the home")
	none, err := home.At(t.TempDir())
	require.NoError(t, err)
	_, err = Write(t.Context(), Options{Home: none, File: filepath.Join(t.TempDir(), "x"), Now: now})
	require.ErrorContains(t, err, "nothing to back up")
}

func TestBackup_WithForce_ReplacesBackupsAndNothingElseOfTheHome(t *testing.T) {
	h, _ := newHome(t)
	write := func(file string) error {
		_, err := Write(t.Context(), Options{Home: h, File: file, Replace: true, Now: now, Note: func(string) {}})
		return err
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	for _, file := range []string{pipe, t.TempDir(), h.StorageDB(), h.ConfigFile(), filepath.Join(h.Dir, "temporal.key"), filepath.Join(h.Dir, "logs", "gateway.log")} {
		before, err := os.Lstat(file)
		require.NoError(t, err)
		require.ErrorContains(t, write(file), "name another one")
		after, err := os.Lstat(file)
		require.NoError(t, err)
		require.True(t, os.SameFile(before, after), file)
	}
	mine := filepath.Join(h.Dir, "backup.tar.gz")
	require.NoError(t, write(mine))
	require.NoError(t, write(mine))
}

func TestRestore_HomeInUse_IsRefused(t *testing.T) {
	h, _ := newHome(t)
	file, _ := back(t, h, false)
	lock, err := h.Lock(home.Owner{Address: "127.0.0.1:1"})
	require.NoError(t, err)
	defer func() { _ = lock.Unlock() }()
	var held *home.HeldError
	_, err = Restore{Home: h, File: file, Replace: true, Now: now}.Run(t.Context())
	require.ErrorAs(t, err, &held)
}

func TestRestore_HomeThatIsThere_IsRefusedOrKept(t *testing.T) {
	h, _ := newHome(t)
	file, _ := back(t, h, false)
	to, err := home.Open(filepath.Join(t.TempDir(), "new"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(to.Dir, "config.json"), []byte("mine"), 0o600))
	_, err = Restore{Home: to, File: file, Now: now}.Run(t.Context())
	require.ErrorContains(t, err, "--force")
	require.Equal(t, map[string]string{"config.json": "mine"}, tree(t, to.Dir))

	got, err := Restore{Home: to, File: file, Replace: true, Now: now}.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]string{"config.json": "mine"}, tree(t, got.Kept))
	require.Equal(t, "be good", tree(t, to.Dir)["agent/AGENT.md"])
	left, err := os.ReadDir(filepath.Dir(to.Dir))
	require.NoError(t, err)
	require.Len(t, left, 2)

	again, err := Restore{Home: to, File: file, Replace: true, Now: now}.Run(t.Context()) // in the same second
	require.NoError(t, err)
	require.NotEqual(t, got.Kept, again.Kept)
	require.Equal(t, tree(t, to.Dir), tree(t, again.Kept))

	// A home that a start made and nothing came of is as good as none.
	empty, err := home.Open(filepath.Join(t.TempDir(), "empty"))
	require.NoError(t, err)
	_, err = Restore{Home: empty, File: file, Now: now}.Run(t.Context())
	require.NoError(t, err)
}

func TestTwoSteps_SwapsDirectories(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, d := range []string{a, b} {
		require.NoError(t, os.Mkdir(d, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(d, "name"), []byte(filepath.Base(d)), 0o600))
	}
	require.NoError(t, twoSteps(a, b))
	require.Equal(t, map[string]string{"a/name": "b", "b/name": "a"}, tree(t, dir))
}

// file is an entry of an archive that somebody else wrote.
type file struct {
	head tar.Header
	text string
}

func plain(name, text string) file {
	return file{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(text))}, text}
}

func archive(t testing.TB, m any, entries ...file) []byte {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	about, err := json.Marshal(m)
	require.NoError(t, err)
	for _, e := range append([]file{plain(manifestName, string(about))}, entries...) {
		require.NoError(t, w.WriteHeader(&e.head))
		if e.head.Size > 0 && len(e.text) > 0 {
			_, err := w.Write([]byte(e.text))
			require.NoError(t, err)
		}
	}
	_ = w.Flush()
	require.NoError(t, zip.Close())
	return out.Bytes()
}

func TestRestore_HostileArchive_ChangesNothing(t *testing.T) {
	m := manifest{Format: format, Files: 2, Bytes: 100}
	with := func(change func(*manifest)) manifest {
		c := m
		change(&c)
		return c
	}
	link := func(name, to string, kind byte) file {
		return file{head: tar.Header{Name: name, Linkname: to, Typeflag: kind, Mode: 0o777}}
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"no archive":        {[]byte("hello"), "no backup"},
		"an empty file":     {nil, "no backup"},
		"another archive":   {archive(t, []int{1}, plain("x", "y"))[:20], "no backup"},
		"a newer format":    {archive(t, with(func(m *manifest) { m.Format, m.Version = 2, "v9" })), "newer PicoBot"},
		"no sense":          {archive(t, with(func(m *manifest) { m.Files = 0 })), "no sense"},
		"a way out":         {archive(t, m, plain("../evil", "x")), "does not belong"},
		"a way out, deep":   {archive(t, m, plain("media/../../evil", "x")), "does not belong"},
		"an absolute path":  {archive(t, m, plain("/tmp/evil", "x")), "does not belong"},
		"a place of ours":   {archive(t, m, plain("temporal/temporal.db", "x")), "does not belong"},
		"a lock":            {archive(t, m, plain("gateway.lock", "x")), "does not belong"},
		"a directory":       {archive(t, m, file{head: tar.Header{Name: "media/", Typeflag: tar.TypeDir}}), "does not belong"},
		"a symbolic link":   {archive(t, m, link("media/a", "/etc", tar.TypeSymlink), plain("media/a/b", "x")), "does not belong"},
		"a hard link":       {archive(t, m, link("media/a", "/etc/passwd", tar.TypeLink)), "does not belong"},
		"a device":          {archive(t, m, link("media/a", "", tar.TypeChar)), "does not belong"},
		"the same twice":    {archive(t, m, plain("config.json", "x"), plain("config.json", "y")), "twice"},
		"more files":        {archive(t, with(func(m *manifest) { m.Files = 1 }), plain("media/a", "x"), plain("media/b", "x")), "more files"},
		"more bytes":        {archive(t, with(func(m *manifest) { m.Bytes = 1 }), plain("media/a", "xyz")), "more than it says"},
		"less":              {archive(t, m, plain("media/a", "xyz")), "missing"},
		"larger than disks": {archive(t, with(func(m *manifest) { m.Bytes = 1 << 61 })), "free"},
		"a huge file":       {archive(t, m, file{head: tar.Header{Name: "media/a", Typeflag: tar.TypeReg, Size: 1 << 40}}), "more than it says"},
		"no record":         {archive(t, manifest{Format: format, Files: 1, Bytes: 1}, plain("media/a", "x")), "no record"},
		"not a record":      {archive(t, manifest{Format: format, Files: 1, Bytes: 5}, plain(recordName, "hello")), "picobot record"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "b")
			require.NoError(t, os.WriteFile(path, c.data, 0o600))
			to, err := home.Open(filepath.Join(dir, "home"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(to.Dir, "config.json"), []byte("mine"), 0o600))
			_, err = Restore{Home: to, File: path, Replace: true, Now: now}.Run(t.Context())
			require.ErrorContains(t, err, c.want)
			require.Equal(t, map[string]string{"b": string(c.data), "home/config.json": "mine"}, tree(t, dir), "nothing but the home as it was")
		})
	}
}

func TestRestore_BackupCutOrDamaged_IsRefused(t *testing.T) {
	h, _ := newHome(t)
	path, _ := back(t, h, true)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for cut := 0; cut < len(whole); cut += 1 + len(whole)/23 {
		damaged := bytes.Clone(whole)
		damaged[cut] ^= 0x40
		for what, data := range map[string][]byte{"cut": whole[:cut], "damaged": damaged} {
			if cut < 10 && what == "damaged" {
				continue // in gzip's header, which is about nothing that matters
			}
			dir := t.TempDir()
			bad := filepath.Join(dir, "b")
			require.NoError(t, os.WriteFile(bad, data, 0o600))
			to, err := home.At(filepath.Join(dir, "home"))
			require.NoError(t, err)
			_, err = Restore{Home: to, File: bad, Now: now}.Run(t.Context())
			require.Error(t, err, "%s at %d", what, cut)
			require.NoDirExists(t, to.Dir)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	m := manifest{Format: format, Files: 1, Bytes: 10}
	for _, e := range []file{plain("media/a", "x"), plain("../a", "x"), plain("workspace/.git/x", "x")} {
		seed, err := gzip.NewReader(bytes.NewReader(archive(f, m, e)))
		require.NoError(f, err)
		var text bytes.Buffer
		_, err = text.ReadFrom(seed)
		require.NoError(f, err)
		f.Add(text.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var packed bytes.Buffer
		zip := gzip.NewWriter(&packed)
		_, _ = zip.Write(data)
		_ = zip.Close()
		above := t.TempDir()
		dir := filepath.Join(above, "in")
		require.NoError(t, os.Mkdir(dir, 0o700))
		_, _ = unpack(t.Context(), &packed, dir)
		left, err := os.ReadDir(above)
		require.NoError(t, err)
		require.Len(t, left, 1, "nothing gets out")
		for name := range tree(t, dir) {
			require.True(t, belongs(name), name)
		}
	})
}
