package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type address struct{ Key string }

func (a address) LogValue() slog.Value { return slog.GroupValue(slog.String("key", a.Key)) }

func TestNoSecretIsWrittenWhereverItHides(t *testing.T) {
	const secret = `s3cr"et\<key>&x`
	for _, format := range []string{FormatText, FormatJSON} {
		var out bytes.Buffer
		s := NewScrubber()
		log, err := New(&out, Options{Level: "debug", Format: format}, s)
		if err != nil {
			t.Fatal(err)
		}
		s.Add(secret, "plain-secret") // learnt after the logger was made

		log.Info("message with " + secret + " in it")
		log.Info("string", "k", secret, "plain-secret", "as a key")
		log.Info("error", "err", fmt.Errorf("call: %w", errors.New(secret)))
		log.Info("struct", "v", struct{ A, B string }{"x", secret}, "p", &address{secret})
		log.Info("bytes", "v", []byte("plain-secret"), "list", []string{secret})
		log.WithGroup("g").With("inner", secret).Info("group", slog.Group("deep", "deeper", secret))
		log.Info("url", "u", "http://h/ws?token=s3cr%22et%5C%3Ckey%3E%26x")

		for line := range strings.Lines(out.String()) {
			for _, bad := range []string{"s3cr", "plain-secret"} {
				if strings.Contains(line, bad) {
					t.Errorf("%s line holds a secret: %s", format, line)
				}
			}
			if format == FormatJSON && !json.Valid([]byte(line)) {
				t.Errorf("scrubbing broke the JSON of: %s", line)
			}
		}
		if !strings.Contains(out.String(), "message with **** in it") {
			t.Errorf("the rest of a message must stay: %s", out.String())
		}
	}
}

func TestShortTextsAreNoSecrets(t *testing.T) {
	if got := NewScrubber("", "abc").Text("abcdef"); got != "abcdef" {
		t.Errorf("got %q", got)
	}
}

func TestLongerSecretGoesWholeWhenItBeginsWithAnother(t *testing.T) {
	if got := NewScrubber("abcd", "abcdefgh").Text("x abcdefgh y"); got != "x **** y" {
		t.Errorf("got %q", got)
	}
}

func TestLevelsAndFormatsAreChecked(t *testing.T) {
	s := NewScrubber()
	if _, err := New(&bytes.Buffer{}, Options{Level: "loud", Format: "text"}, s); err == nil || !strings.Contains(err.Error(), "debug, info, warn or error") {
		t.Errorf("level: got %v", err)
	}
	if _, err := New(&bytes.Buffer{}, Options{Level: "info", Format: "xml"}, s); err == nil || !strings.Contains(err.Error(), "text or json") {
		t.Errorf("format: got %v", err)
	}
	var out bytes.Buffer
	log, err := New(&out, Options{Level: "warn", Format: "text"}, s)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("hidden")
	log.Warn("shown")
	if got := out.String(); strings.Contains(got, "hidden") || !strings.Contains(got, "shown") {
		t.Errorf("level warn wrote %q", got)
	}
}

func TestLogFile_PrivateAndPutAsideWhenLarge(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	path := filepath.Join(dir, "gateway.log")
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line := bytes.Repeat([]byte("x"), 1<<20)
	for range maxMegabytes + 1 {
		if _, err := f.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Fatalf("%v %v", files, err)
	}
	for _, file := range files {
		if info, err := file.Info(); err != nil || info.Mode().Perm() != 0o600 || info.Size() > maxMegabytes<<20 {
			t.Errorf("%s: %v %v", file.Name(), info, err)
		}
	}
	if _, err := OpenFile(dir); err == nil {
		t.Error("a directory is no log file")
	}
}

func TestIDs_HaveOneNameWhoeverLogsThem(t *testing.T) {
	var out bytes.Buffer
	log, err := New(&out, Options{Level: "info", Format: FormatJSON}, NewScrubber())
	if err != nil {
		t.Fatal(err)
	}
	log.With("WorkflowID", "session/s", "RunID", "r").Info("the SDK's", "turn", "t", "session", "s", "job", "j")
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"workflow_id": "session/s", "run_id": "r", "turn_id": "t", "session_id": "s", "job_id": "j"} {
		if line[name] != want {
			t.Errorf("%s: %v in %s", name, line[name], out.String())
		}
	}
}
