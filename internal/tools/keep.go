package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Keep stores a result in a file of the workspace that is named by its contents,
// and returns its path: keeping the same result again finds the file there.
func (w *Workspace) Keep(_ Call, tool, content string) (string, error) {
	if !toolName.MatchString(tool) {
		tool = "tool" // models make up names, and this one becomes part of a path
	}
	sum := sha256.Sum256([]byte(content))
	path := outputDir + "/" + tool + "-" + hex.EncodeToString(sum[:8]) + ".txt"
	if info, err := w.root.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == int64(len(content)) {
		return path, nil
	}
	if err := w.root.MkdirAll(outputDir, 0o755); err != nil {
		return "", fmt.Errorf("keep the output of %s: %w", tool, plain(err))
	}
	if err := w.root.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("keep the output of %s: %w", tool, plain(err))
	}
	f, err := w.root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, outputMode)
	if err != nil {
		return "", fmt.Errorf("keep the output of %s: %w", tool, plain(err))
	}
	_, err = io.WriteString(f, content)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("keep the output of %s: %w", tool, err)
	}
	return path, nil
}
