package home

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenMakesDirectoriesForTheOwnerOnly(t *testing.T) {
	h := openTemp(t)
	for _, dir := range []string{"", "agent", "storage", "temporal", "skills", "media", "workspace", "logs"} {
		info, err := os.Stat(filepath.Join(h.Dir, dir))
		if err != nil {
			t.Fatal(err)
		}
		if !info.IsDir() || info.Mode().Perm() != 0o700 {
			t.Errorf("%q has mode %v", dir, info.Mode())
		}
	}
	if _, err := Open(h.Dir); err != nil {
		t.Errorf("opening it again: %v", err)
	}
}

func TestOpenSaysWhichDirectoryCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(file)
	if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "--home") {
		t.Errorf("got %v", err)
	}
}

func TestAtMakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	h, err := At(dir)
	if err != nil || h.Dir != dir {
		t.Fatal(h, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory is there: %v", err)
	}
}

func TestPathsAreWhereTheContractSaysTheyAre(t *testing.T) {
	h := Home{Dir: "/h"}
	for got, want := range map[string]string{
		h.ConfigFile():     "/h/config.json",
		h.AgentFile():      "/h/agent/AGENT.md",
		h.StorageDB():      "/h/storage/sessions.db",
		h.TemporalDir():    "/h/temporal",
		h.SkillsDir():      "/h/skills",
		h.SkillStateFile(): "/h/skill-state.json",
		h.MediaDir():       "/h/media",
		h.WorkspaceDir():   "/h/workspace",
		h.LogsDir():        "/h/logs",
		h.TokenFile():      "/h/gateway.token",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestResolve(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		flag string
		env  map[string]string
		want string
	}{
		"the flag wins":                   {"/flag", map[string]string{EnvDir: "/env", "HOME": "/u"}, "/flag"},
		"then the environment":            {"", map[string]string{EnvDir: "/env", "HOME": "/u"}, "/env"},
		"then the user's directory":       {"", map[string]string{"HOME": "/u"}, "/u/.picobot"},
		"a relative flag becomes whole":   {"x", nil, filepath.Join(wd, "x")},
		"a tilde no shell has expanded":   {"", map[string]string{EnvDir: "~/bot", "HOME": "/u"}, "/u/bot"},
		"a name that starts with a tilde": {"~x", nil, filepath.Join(wd, "~x")},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Resolve(tt.flag, func(k string) string { return tt.env[k] })
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestResolveWithoutAUserDirectorySaysWhatToDo(t *testing.T) {
	_, err := Resolve("", func(string) string { return "" })
	if err == nil || !strings.Contains(err.Error(), "--home") {
		t.Errorf("got %v", err)
	}
}
