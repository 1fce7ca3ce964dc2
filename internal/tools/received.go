package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// receivedDir holds, in the workspace, files that people have sent.
const receivedDir = "received"

// Receive stores a file that came with a message where tools find it, and returns
// its path. The same file of the same message is stored once; name must be a plain
// name of a file.
func (w *Workspace) Receive(message, name string, r io.Reader) (string, error) {
	if name != path.Base(name) || name == "." || name == ".." || name == "/" {
		return "", errors.New("keep a received file: its name is none")
	}
	sum := sha256.Sum256([]byte(message))
	dir := receivedDir + "/" + hex.EncodeToString(sum[:6])
	file := dir + "/" + name
	if err := w.root.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("keep a received file: %w", plain(err))
	}
	ignore, err := w.root.OpenFile(receivedDir+"/.gitignore", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		_, _ = ignore.WriteString("*\n") // it is not for the user's version control
		_ = ignore.Close()
	}
	// Written beside and renamed: whoever finds the name finds the whole file.
	part := file + ".part"
	if err := w.root.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("keep a received file: %w", plain(err))
	}
	f, err := w.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", fmt.Errorf("keep a received file: %w", plain(err))
	}
	_, err = io.Copy(f, r)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", fmt.Errorf("keep a received file: %w", plain(err))
	}
	if err := w.root.Rename(part, file); err != nil {
		return "", fmt.Errorf("keep a received file: %w", plain(err))
	}
	return file, nil
}
