package cli

import (
	"encoding/json"
	"runtime/debug"
	"testing"
)

func TestVersionNamesWhatItIsBuiltWith(t *testing.T) {
	r := newHarness(t).run("version")
	if want := "picobot v1.2.3\ncommit abc\ngo go1\ntemporal server v4\ntemporal sdk v5\n"; r.code != 0 || r.stdout != want {
		t.Errorf("%+v", r)
	}
	if r := newHarness(t).run("--version"); r.code != 0 || r.stdout != "picobot version v1.2.3\n" {
		t.Errorf("%+v", r)
	}
	r = newHarness(t).run("version", "--json")
	var got Build
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || got.TemporalServer != "v4" {
		t.Errorf("%+v: %v", r, err)
	}
}

func TestBuildComesFromTheLinkerElseFromTheGoCommand(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26",
		Main:      debug.Module{Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: moduleServer, Version: "v1"},
			{Path: moduleSDK, Version: "v2", Replace: &debug.Module{Path: moduleSDK, Version: "v3"}},
		},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "cafe"}, {Key: "vcs.modified", Value: "true"}},
	}
	if got, want := newBuild("", "", info), (Build{"devel", "cafe (modified)", "go1.26", "v1", "v3"}); got != want {
		t.Errorf("got %+v", got)
	}
	if got := newBuild("v9", "beef", info); got.Version != "v9" || got.Commit != "beef" {
		t.Errorf("got %+v", got)
	}
	if got := newBuild("", "", nil); got.Version != "unknown" || got.TemporalSDK != "unknown" {
		t.Errorf("got %+v", got)
	}
}
