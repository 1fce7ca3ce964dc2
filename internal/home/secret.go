package home

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	secretBytes   = 32
	secretTimeout = 10 * time.Second
	secretRetry   = 5 * time.Millisecond
	maxSecretSize = 4096
)

// Token returns the gateway token of this home, made at first use.
func (h Home) Token() (string, error) { return h.secret(h.TokenFile(), secretBytes) }

// EngineKey returns the key that clients of the embedded engine present, made
// at first use. It is not the gateway token: whoever holds one does not thereby
// hold the other.
func (h Home) EngineKey() (string, error) { return h.secret(h.EngineKeyFile(), secretBytes) }

// ClientID returns the id that this installation presents to the gateway. It
// stays the same for the life of the home.
func (h Home) ClientID() (string, error) {
	id, err := h.secret(h.ClientIDFile(), secretBytes/2)
	if err != nil {
		return "", err
	}
	return id, nil
}

// secret reads the word in the file, or makes one of n random bytes. Readers
// take no lock: the file appears whole, by a rename.
func (h Home) secret(path string, n int) (string, error) {
	if word, err := readSecret(path); err != nil || word != "" {
		return word, err
	}
	// Two processes that both find nothing must end with the same word, so the
	// one that comes second has to look again before it makes its own.
	ctx, cancel := context.WithTimeout(context.Background(), secretTimeout)
	defer cancel()
	guard := flock.New(h.secretsLockFile(), flock.SetPermissions(filePerm))
	if _, err := guard.TryLockContext(ctx, secretRetry); err != nil {
		return "", fmt.Errorf("lock %s to make %s: %w", h.secretsLockFile(), path, err)
	}
	defer func() { _ = guard.Close() }()

	if word, err := readSecret(path); err != nil || word != "" {
		return word, err
	}
	raw := make([]byte, n)
	if _, err := rand.Read(raw); err != nil {
		return "", fmt.Errorf("make %s: %w", path, err)
	}
	word := hex.EncodeToString(raw)
	if err := writeFileAtomic(path, []byte(word+"\n")); err != nil {
		return "", fmt.Errorf("make %s: %w", path, err)
	}
	return word, nil
}

// readSecret returns "" when there is no file or nothing in it.
func readSecret(path string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxSecretSize {
		return "", fmt.Errorf("%s is not a file with one word in it: delete it and it is made anew", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		// A copy or a backup that was put back often loses the mode.
		if err := os.Chmod(path, filePerm); err != nil {
			return "", fmt.Errorf("%s can be read by others, run chmod 600 on it: %w", path, err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	word := strings.TrimSpace(string(data))
	if strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s holds more than one word: delete it and it is made anew", path)
	}
	return word, nil
}

// writeFileAtomic puts the file in place whole and synced, or not at all.
func writeFileAtomic(path string, data []byte) (err error) {
	// CreateTemp makes it 0600.
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
