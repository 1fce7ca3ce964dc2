package cli

import "runtime/debug"

// What the linker may be told (-ldflags "-X picobot/cli.version=…"); else the go
// command's own stamp counts.
var version, commit string

// Build says what this binary is made of.
type Build struct {
	Version        string `json:"version"`
	Commit         string `json:"commit"`
	Go             string `json:"go"`
	TemporalServer string `json:"temporal_server"`
	TemporalSDK    string `json:"temporal_sdk"`
}

// Modules whose versions are worth telling.
const (
	moduleServer = "go.temporal.io/server"
	moduleSDK    = "go.temporal.io/sdk"
)

// ReadBuild says what this binary is made of.
func ReadBuild() Build {
	info, _ := debug.ReadBuildInfo()
	return newBuild(version, commit, info)
}

// newBuild puts together what the linker was told (empty = nothing) and what the
// go command left in the binary (nil = nothing).
func newBuild(version, commit string, info *debug.BuildInfo) Build {
	b := Build{Version: version, Commit: commit}
	if info != nil {
		b.fill(info)
	}
	for _, field := range []*string{&b.Version, &b.Commit, &b.Go, &b.TemporalServer, &b.TemporalSDK} {
		if *field == "" {
			*field = "unknown"
		}
	}
	return b
}

func (b *Build) fill(info *debug.BuildInfo) {
	b.Go = info.GoVersion
	if b.Version == "" && info.Main.Version != "" {
		b.Version = info.Main.Version
		if b.Version == "(devel)" {
			b.Version = "devel"
		}
	}
	for _, m := range info.Deps {
		for m.Replace != nil {
			m = m.Replace
		}
		switch m.Path {
		case moduleServer:
			b.TemporalServer = m.Version
		case moduleSDK:
			b.TemporalSDK = m.Version
		}
	}
	if b.Commit != "" {
		return
	}
	modified := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if b.Commit != "" && modified {
		b.Commit += " (modified)"
	}
}
