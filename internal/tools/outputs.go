package tools

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// outputDir is in the workspace, so that the model can read what is in it.
	outputDir  = ".picobot/output"
	keptFiles  = 200
	outputMode = 0o600
)

// Spill keeps a whole result in a file of the workspace and returns its path.
// It fits Options.Spill.
func (w *Workspace) Spill(_ Call, tool, content string) (string, error) {
	f, path, err := w.createOutput(tool)
	if err != nil {
		return "", err
	}
	if _, err := io.WriteString(f, content); err != nil {
		_ = f.Close()
		return "", fmt.Errorf("keep the output of %s: %w", tool, err)
	}
	return path, f.Close()
}

// createOutput makes a new file for output of a tool. Only the newest files are
// kept. The directory is one that commands can write to: links in it that lead
// outside are refused like everywhere.
func (w *Workspace) createOutput(tool string) (*os.File, string, error) {
	if err := w.root.MkdirAll(outputDir, 0o755); err != nil {
		return nil, "", fmt.Errorf("keep the output of %s: %w", tool, plain(err))
	}
	// It is not for the user's version control. That it is there already is fine.
	ignore, err := w.root.OpenFile(outputDir+"/.gitignore", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		_, _ = ignore.WriteString("*\n")
		_ = ignore.Close()
	}
	w.pruneOutputs()
	path := outputDir + "/" + tool + "-" + strings.ToLower(rand.Text()[:10]) + ".txt"
	f, err := w.root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, outputMode)
	if err != nil {
		return nil, "", fmt.Errorf("keep the output of %s: %w", tool, plain(err))
	}
	return f, path, nil
}

// pruneOutputs removes the oldest files. What it cannot read or remove is left.
func (w *Workspace) pruneOutputs() {
	entries, err := fs.ReadDir(w.root.FS(), outputDir)
	if err != nil || len(entries) <= keptFiles {
		return
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && filepath.Ext(info.Name()) == ".txt" {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, info := range files[min(len(files), keptFiles-1):] {
		_ = w.root.Remove(outputDir + "/" + info.Name())
	}
}
