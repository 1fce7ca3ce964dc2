package skills_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/skills"
)

// library is a library with all four sources in a directory of the test's own.
type library struct {
	*skills.Library
	t testing.TB

	base, home, user, project string

	mu     sync.Mutex
	events []skills.Event
	failed error // what the recorder answers
}

func newLibrary(t testing.TB) *library { return newLibraryWith(t, 4000, 32) }

func newLibraryWith(t testing.TB, maxChars, maxListed int) *library {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	l := &library{t: t, base: base, home: base + "/home", user: base + "/user", project: base + "/project"}
	for _, dir := range []string{l.home, l.user, l.project} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	l.Library = skills.New(skills.Options{
		Sources: []skills.Source{
			{Name: "user", Scope: skills.User, Base: l.home, Path: "skills", Managed: true},
			{Name: "user_agent", Scope: skills.User, Base: l.user, Path: ".agents/skills"},
			{Name: "project", Scope: skills.Project, Base: l.project, Path: ".picobot/skills", Confined: true, Managed: true},
			{Name: "project_agent", Scope: skills.Project, Base: l.project, Path: ".agents/skills", Confined: true},
		},
		States: []skills.StateFile{
			{Scope: skills.User, Base: l.home, Path: "skill-state.json"},
			{Scope: skills.Project, Base: l.project, Path: ".picobot/skill-state.json"},
		},
		MaxIndexChars: maxChars, MaxListed: maxListed,
		Record: func(_ context.Context, events []skills.Event) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.failed != nil {
				return l.failed
			}
			l.events = append(l.events, events...)
			return nil
		},
	})
	return l
}

func (l *library) dir(source string) string {
	return map[string]string{
		"user": l.home + "/skills", "user_agent": l.user + "/.agents/skills",
		"project": l.project + "/.picobot/skills", "project_agent": l.project + "/.agents/skills",
	}[source]
}

// put writes a file below a source.
func (l *library) put(source, path, content string) {
	l.t.Helper()
	write(l.t, filepath.Join(l.dir(source), path), content)
}

func write(t testing.TB, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

func (l *library) names() []string {
	var names []string
	for _, k := range l.Snapshot(l.t.Context()).Skills() {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	return names
}

func (l *library) find(name string) skills.Skill {
	l.t.Helper()
	k, ok := l.Snapshot(l.t.Context()).Find(name)
	require.True(l.t, ok, "no skill %s among %q; %v", name, l.names(), l.Snapshot(l.t.Context()).Problems())
	return k
}

// why returns what was said about a folder.
func (l *library) why(name string) string {
	var all []string
	for _, p := range l.Snapshot(l.t.Context()).Skipped() {
		if p.Name == name {
			all = append(all, p.Message)
		}
	}
	return strings.Join(all, "; ")
}

// happened lists what the recorder was told since it was asked last.
func (l *library) happened() []string {
	l.Snapshot(l.t.Context())
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, e := range l.events {
		out = append(out, strings.TrimSpace(string(e.Kind)+" "+e.Skill))
	}
	l.events = nil
	return out
}

func plainSkill(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n\nDo it.\n"
}

func copyTree(t testing.TB, from, to string) {
	t.Helper()
	require.NoError(t, fs.WalkDir(os.DirFS(from), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(from, path))
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		write(t, filepath.Join(to, path), string(data))
		return os.Chmod(filepath.Join(to, path), info.Mode().Perm())
	}))
}
