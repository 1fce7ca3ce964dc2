package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// prepareOnce makes or keeps files without starting a server on them.
func prepareOnce(t *testing.T, dir string) *prepared {
	t.Helper()
	p, err := prepare(t.Context(), testOptions(t, dir).withDefaults(), files{dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func editMeta(t *testing.T, f files, change func(*meta)) {
	t.Helper()
	m, err := readMeta(f.meta())
	if err != nil || m == nil {
		t.Fatal(m, err)
	}
	change(m)
	if err := m.write(f.meta()); err != nil {
		t.Fatal(err)
	}
}

func execOwn(t *testing.T, path, statement string) {
	t.Helper()
	db, err := openOwn(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func asideDirs(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, asidePrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestFilesThatFitAreKept(t *testing.T) {
	dir := t.TempDir()
	first := prepareOnce(t, dir)
	if !first.fresh || first.why != "there were no engine files" || uuid.Validate(first.meta.ClusterID) != nil {
		t.Errorf("got %+v", first)
	}
	second := prepareOnce(t, dir)
	if second.fresh || second.meta != first.meta {
		t.Errorf("got %+v after %+v", second.meta, first.meta)
	}
	if got := asideDirs(t, dir); len(got) != 0 {
		t.Errorf("set aside: %v", got)
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	dir := t.TempDir()
	prepareOnce(t, dir)
	there, err := files{dir: dir}.present()
	if err != nil || len(there) < 3 {
		t.Fatal(there, err)
	}
	for _, path := range there {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
}

func TestFilesThatDoNotFitAreSetAside(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(t *testing.T, f files)
		why   string
	}{
		"another server version": {
			func(t *testing.T, f files) { editMeta(t, f, func(m *meta) { m.ServerVersion = "1.30.6" }) },
			"Temporal server 1.30.6 made the engine files",
		},
		"another schema by the record": {
			func(t *testing.T, f files) { editMeta(t, f, func(m *meta) { m.SchemaHash = "x" }) },
			"another schema of the same Temporal server",
		},
		"a table is missing": {
			func(t *testing.T, f files) { execOwn(t, f.main(), "DROP TABLE current_chasm_executions") },
			"temporal.db has another schema",
		},
		"visibility lacks a table": {
			func(t *testing.T, f files) { execOwn(t, f.visibility(), "DROP TABLE executions_visibility") },
			"visibility.db has another schema",
		},
		"the visibility file is missing": {
			func(t *testing.T, f files) { remove(t, f.visibility()) },
			"visibility.db cannot be used",
		},
		"the main file is missing": {
			func(t *testing.T, f files) { remove(t, f.main()) },
			"temporal.db cannot be used",
		},
		"the record is missing": {
			func(t *testing.T, f files) { remove(t, f.meta()) },
			"no record of their version",
		},
		"the record is torn": {
			func(t *testing.T, f files) { overwrite(t, f.meta(), 0, "{") },
			"engine.json",
		},
		"the record has no cluster id": {
			func(t *testing.T, f files) { editMeta(t, f, func(m *meta) { m.ClusterID = "" }) },
			"cluster id",
		},
		"the main file is something else": {
			func(t *testing.T, f files) { overwrite(t, f.main(), 0, strings.Repeat("not SQLite ", 99)) },
			"temporal.db cannot be used",
		},
		"a page in the middle is damaged": {
			func(t *testing.T, f files) { overwrite(t, f.main(), 40*4096, strings.Repeat("\xff", 4096)) },
			"temporal.db cannot be used",
		},
		"the visibility file is empty": {
			func(t *testing.T, f files) { overwrite(t, f.visibility(), 0, "") },
			"visibility.db cannot be used",
		},
		"the main file was cut short": {
			func(t *testing.T, f files) {
				if err := os.Truncate(f.main(), 3*4096); err != nil {
					t.Fatal(err)
				}
			},
			"temporal.db cannot be used",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := files{dir: dir}
			old := prepareOnce(t, dir)
			settle(t, f)
			tt.spoil(t, f)

			p := prepareOnce(t, dir)
			if !p.fresh || !strings.Contains(p.why, tt.why) {
				t.Fatalf("got %v, %q", p.fresh, p.why)
			}
			if p.meta.ClusterID == old.meta.ClusterID {
				t.Error("new files have the old cluster id")
			}
			aside := asideDirs(t, dir)
			if len(aside) != 1 || !strings.Contains(p.why, filepath.Base(aside[0])) {
				t.Errorf("set aside %v, said %q", aside, p.why)
			}
			if again := prepareOnce(t, dir); again.fresh {
				t.Errorf("fresh again: %s", again.why)
			}
		})
	}
}

// settle empties the write-ahead logs, so that the files alone are the data.
func settle(t *testing.T, f files) {
	t.Helper()
	for _, path := range f.databases() {
		if err := checkpoint(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		for _, beside := range []string{"-wal", "-shm"} {
			if err := os.Remove(path + beside); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, path string, at int64, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if at == 0 {
		if err := file.Truncate(0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := file.WriteAt([]byte(text), at); err != nil {
		t.Fatal(err)
	}
}

func TestTheTwoNewestSetsAreKept(t *testing.T) {
	dir := t.TempDir()
	f := files{dir: dir}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var moved []string
	for i := range 4 {
		if err := os.WriteFile(f.main(), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		aside, err := f.setAside(now.Add(time.Duration(i/2) * time.Hour)) // two in the same moment
		if err != nil {
			t.Fatal(err)
		}
		moved = append(moved, aside)
	}
	got := asideDirs(t, dir)
	if len(got) != 2 || got[0] != moved[2] || got[1] != moved[3] {
		t.Errorf("kept %v of %v", got, moved)
	}
	if aside, err := f.setAside(now); aside != "" || err != nil {
		t.Errorf("with nothing there: %q, %v", aside, err)
	}
}

func TestOtherFilesInTheDirectoryAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	note := filepath.Join(dir, "note.txt")
	if err := os.WriteFile(note, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if p := prepareOnce(t, dir); p.why != "there were no engine files" {
		t.Errorf("got %q", p.why)
	}
	if _, err := (files{dir: dir}).setAside(time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(note); err != nil {
		t.Error(err)
	}
}

func TestNamespaceWithoutRoomForASearchAttributeIsRefused(t *testing.T) {
	dir := t.TempDir()
	o := testOptions(t, dir).withDefaults()
	kind := o.SearchAttributes["PicobotJob"]
	for _, c := range "abcdefghijkl" {
		o.SearchAttributes["Attribute"+string(c)] = kind
	}
	_, err := prepare(t.Context(), o, files{dir: dir})
	if err == nil || !strings.Contains(err.Error(), "no free column") {
		t.Errorf("got %v", err)
	}
	// What was cut short is not built upon.
	if p := prepareOnce(t, dir); !p.fresh {
		t.Error("half-made files were kept")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"no directory":       func(o *Options) { o.Dir = "" },
		"negative retention": func(o *Options) { o.RetentionDays = -1 },
		"address":            func(o *Options) { o.Address = "7233" },
		"ui address":         func(o *Options) { o.UIAddress = "localhost" },
	} {
		t.Run(name, func(t *testing.T) {
			o := testOptions(t, t.TempDir())
			change(&o)
			if _, err := Start(t.Context(), o); err == nil {
				t.Error("it started")
			}
		})
	}
}

func TestVersions(t *testing.T) {
	v := Versions()
	for _, s := range []string{v.Server, v.UI, v.SDK} {
		if strings.Count(s, ".") != 2 {
			t.Errorf("got %+v", v)
		}
	}
}
