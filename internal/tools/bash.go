package tools

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"picobot/internal/tools/proc"
)

//go:embed bash.md
var bashDescription string

const (
	// One argument of a program may have 128 KiB on Linux.
	maxCommandBytes = 100_000
	// What a result has besides the output: how it ended, what was left out.
	bashNoteRunes = 400
	leastBashRoom = 1000

	defaultBashTimeout    = 120 * time.Second
	defaultBashMaxTimeout = time.Hour
	defaultPath           = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// BashOptions of the tool bash. Zero values have the defaults of the configuration.
type BashOptions struct {
	Timeout    time.Duration // when the model names none; 0 = 120 s
	MaxTimeout time.Duration // the most it may name; 0 = 1 h
	// EnvAllow names variables that are passed on besides the usual few.
	EnvAllow []string
	// LookupEnv is where they come from; nil = this process's environment.
	LookupEnv func(name string) (string, bool)
	// Sandbox confines commands; nil leaves them what PicoBot's user may do.
	Sandbox *Sandbox
	// MaxResultChars is the registry's limit, which results keep to; 0 = 16000.
	MaxResultChars int
	// Now is the clock; nil = time.Now.
	Now func() time.Time
}

func (o BashOptions) withDefaults() BashOptions {
	if o.Timeout <= 0 {
		o.Timeout = defaultBashTimeout
	}
	if o.MaxTimeout <= 0 {
		o.MaxTimeout = defaultBashMaxTimeout
	}
	o.Timeout = min(o.Timeout, o.MaxTimeout)
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	if o.MaxResultChars <= 0 {
		o.MaxResultChars = defaultResultChars
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

type bashArgs struct {
	Command        string `json:"command" jsonschema:"the command, as typed into bash"`
	TimeoutSeconds int    `json:"timeout_seconds,omitempty" jsonschema:"seconds after which it is ended"`
	Workdir        string `json:"workdir,omitempty" jsonschema:"directory to start in, relative to the workspace"`
}

// Bash is the tool bash. The program must hand over to proc.Main first.
func Bash(w *Workspace, opts BashOptions) Tool {
	b := bash{workspace: w, opts: opts.withDefaults()}
	return New(Spec[bashArgs]{
		Name:        "bash",
		Description: bashDescription,
		Effect:      Outside,
		Summary:     func(a bashArgs) string { return a.Command },
		Refine: func(s *jsonschema.Schema) {
			s.Properties["timeout_seconds"].Minimum = jsonschema.Ptr(0.0)
		},
	}, b.run)
}

type bash struct {
	workspace *Workspace
	opts      BashOptions
}

// errTimeout is the cause of a context that ended because of the time limit.
var errTimeout = errors.New("timed out")

func (b bash) run(ctx context.Context, call Call, a bashArgs) (string, error) {
	switch {
	case strings.TrimSpace(a.Command) == "":
		return "", errors.New("the command is empty")
	case len(a.Command) > maxCommandBytes:
		return "", fmt.Errorf("the command is too long (%d bytes, at most %d): write it to a file with file_write and run that", len(a.Command), maxCommandBytes)
	case strings.ContainsRune(a.Command, 0):
		return "", errors.New("the command has a NUL character")
	}
	timeout, err := b.timeout(a.TimeoutSeconds)
	if err != nil {
		return "", err
	}
	dir, err := b.workdir(a.Workdir)
	if err != nil {
		return "", err
	}
	env, confine, err := b.surroundings(call, dir)
	if err != nil {
		return "", err
	}
	mark := call.ID
	if mark == "" {
		mark = rand.Text()
	}
	output := &capture{
		room: max(b.opts.MaxResultChars-bashNoteRunes, leastBashRoom),
		create: func() (io.WriteCloser, string) {
			f, path, err := b.workspace.createOutput("bash")
			if err != nil {
				return nil, ""
			}
			return f, path
		},
		now:      b.opts.Now,
		progress: call.Progress,
	}
	defer output.close()
	limited, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	started := b.opts.Now()
	exit, err := proc.Run(limited, proc.Command{
		Args:    shell(a.Command),
		Dir:     dir,
		Env:     env,
		Mark:    mark,
		Output:  output,
		Confine: confine,
	})
	took := b.opts.Now().Sub(started).Round(100 * time.Millisecond)
	switch {
	case errors.Is(err, errTimeout):
		return soFar(output), fmt.Errorf("timed out after %s and was ended%s", timeout, raiseLimit(timeout, b.opts.MaxTimeout))
	case errors.Is(err, ErrCancelled), errors.Is(err, ErrShutdown):
		return soFar(output), fmt.Errorf("%w after %s", err, took)
	case err != nil && limited.Err() != nil:
		return soFar(output), fmt.Errorf("interrupted after %s: %w", took, err)
	case err != nil:
		return soFar(output), fmt.Errorf("the shell could not run the command: %w", err)
	}
	return withStatus(output.String(), exit), nil
}

func soFar(output *capture) string {
	if output.total == 0 {
		return "(no output so far)"
	}
	return "Output so far:\n" + output.String()
}

func raiseLimit(timeout, most time.Duration) string {
	if timeout >= most {
		return ""
	}
	return fmt.Sprintf(" (timeout_seconds may be up to %d)", int(most/time.Second))
}

func withStatus(output string, exit proc.Exit) string {
	var status string
	switch {
	case exit.Signal != "":
		status = fmt.Sprintf("[ended by signal: %s]", exit.Signal)
	case exit.Code != 0:
		status = fmt.Sprintf("[exit status %d]", exit.Code)
	default:
		return output
	}
	if strings.TrimSpace(output) == "" {
		return "(no output)\n" + status
	}
	return strings.TrimRight(output, "\n") + "\n" + status
}

func (b bash) timeout(seconds int) (time.Duration, error) {
	if seconds == 0 {
		return b.opts.Timeout, nil
	}
	most := int(b.opts.MaxTimeout / time.Second)
	if seconds > most {
		return 0, fmt.Errorf("timeout_seconds is %d, at most %d is allowed", seconds, most)
	}
	return time.Duration(seconds) * time.Second, nil
}

// workdir returns the absolute directory to start in.
func (b bash) workdir(path string) (string, error) {
	if path == "" {
		return b.workspace.dir, nil
	}
	p, err := b.workspace.locateToRead(path)
	if err != nil {
		return "", err
	}
	defer p.close()
	info, err := p.root.Stat(p.name)
	if err != nil {
		return "", p.explain(err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("workdir %s is not a directory", p.shown)
	}
	return filepath.Join(p.root.Name(), p.name), nil
}

// surroundings are the environment and the confinement of a command.
func (b bash) surroundings(call Call, dir string) ([]string, *proc.Confinement, error) {
	env := b.environment(dir)
	var confine *proc.Confinement
	if s := b.opts.Sandbox; s != nil {
		var err error
		if confine, err = s.apply(b.workspace, call, env["TMPDIR"]); err != nil {
			return nil, nil, err
		}
		if confine != nil {
			if env["TMPDIR"], err = s.scratchDir(b.workspace, env["TMPDIR"]); err != nil {
				return nil, nil, err
			}
		}
	}
	list := make([]string, 0, len(env))
	for _, name := range sortedKeys(env) {
		list = append(list, name+"="+env[name])
	}
	return list, confine, nil
}

// environment is all that the command gets of ours. Everything else may hold keys.
func (b bash) environment(dir string) map[string]string {
	env := map[string]string{
		// Not the user's home: its profile, keys and tokens are not the agent's.
		"HOME":  b.workspace.dir,
		"PATH":  defaultPath,
		"LANG":  "C.UTF-8",
		"TERM":  "dumb",
		"SHELL": shell("")[0],
	}
	for _, name := range append([]string{"PATH", "LANG", "TZ", "USER", "TMPDIR"}, b.opts.EnvAllow...) {
		if value, ok := b.opts.LookupEnv(name); ok && !strings.ContainsRune(value, 0) {
			env[name] = value
		}
	}
	env["PWD"] = dir
	return env
}

// shell runs a command without the files that shells read at start.
func shell(command string) []string {
	const bash = "/bin/bash"
	if _, err := os.Stat(bash); err == nil {
		return []string{bash, "--noprofile", "--norc", "-c", command}
	}
	return []string{"/bin/sh", "-c", command}
}
