package home

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
)

func TestTokenIsMadeOnceAndKeptPrivate(t *testing.T) {
	h := openTemp(t)
	tok, err := h.Token()
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(tok) {
		t.Errorf("token is %q", tok)
	}
	info, err := os.Stat(h.TokenFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	again, err := h.Token()
	if err != nil || again != tok {
		t.Errorf("second reading: %q, %v", again, err)
	}
}

func TestSecretsDiffer(t *testing.T) {
	h := openTemp(t)
	seen := map[string]bool{}
	for _, get := range []func() (string, error){h.Token, h.EngineKey, h.ClientID} {
		word, err := get()
		if err != nil || word == "" || seen[word] {
			t.Errorf("got %q, %v", word, err)
		}
		seen[word] = true
		if again, _ := get(); again != word {
			t.Errorf("%q became %q", word, again)
		}
	}
}

func TestTokenRaceOfGoroutinesHasOneWinner(t *testing.T) {
	h := openTemp(t)
	const n = 16
	got := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			tok, err := h.Token()
			if err != nil {
				t.Error(err)
			}
			got[i] = tok
		})
	}
	wg.Wait()
	for _, tok := range got {
		if tok == "" || tok != got[0] {
			t.Fatalf("got %v", got)
		}
	}
}

func TestTokenRaceOfProcessesHasOneWinner(t *testing.T) {
	h := openTemp(t)
	const n = 6
	got := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), helperEnv+"=token:"+h.Dir)
			out, err := cmd.Output()
			if err != nil {
				t.Error(err)
			}
			got[i] = strings.TrimSpace(string(out))
		})
	}
	wg.Wait()
	for _, tok := range got {
		if tok == "" || tok != got[0] {
			t.Fatalf("got %v", got)
		}
	}
}

func TestTokenFileThatIsEmptyIsFilled(t *testing.T) {
	h := openTemp(t)
	if err := os.WriteFile(h.TokenFile(), []byte(" \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tok, err := h.Token()
	if err != nil || len(tok) != 64 {
		t.Errorf("got %q, %v", tok, err)
	}
}

func TestTokenFileThatOthersCanReadIsClosed(t *testing.T) {
	h := openTemp(t)
	if err := os.WriteFile(h.TokenFile(), []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tok, err := h.Token()
	if err != nil || tok != "mine" {
		t.Errorf("got %q, %v", tok, err)
	}
	info, err := os.Stat(h.TokenFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestTokenFileThatIsNoWordIsRefused(t *testing.T) {
	for name, content := range map[string]string{
		"two words": "one two",
		"a novel":   strings.Repeat("x", maxSecretSize+1),
	} {
		t.Run(name, func(t *testing.T) {
			h := openTemp(t)
			if err := os.WriteFile(h.TokenFile(), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Token(); err == nil || !strings.Contains(err.Error(), h.TokenFile()) {
				t.Errorf("got %v", err)
			}
		})
	}
}
