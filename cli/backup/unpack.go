package backup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// spare is what a disk must have left beside what is restored.
const spare = 64 << 20

// unpack writes the files of an archive into an empty directory. It trusts nothing
// that the archive says: only plain files at places that a home has, each once, and no
// more of them than it announced and the disk has room for.
func unpack(ctx context.Context, archive io.Reader, dir string) (manifest, error) {
	zip, err := gzip.NewReader(archive)
	if err != nil {
		return manifest{}, errors.New("it is no backup of PicoBot's")
	}
	in := tar.NewReader(zip)
	m, err := readManifest(in)
	if err != nil {
		return m, err
	}
	switch free, err := free(dir); {
	case err != nil:
		return m, err
	case m.Bytes > free-spare:
		return m, fmt.Errorf("it holds %d MB and the disk has %d MB free", m.Bytes>>20, free>>20)
	}
	// All that is written stays below dir, whatever a name says.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return m, err
	}
	defer func() { _ = root.Close() }()
	var files, bytes int64
	for {
		if err := ctx.Err(); err != nil {
			return m, err
		}
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return m, broken(err)
		}
		if head.Typeflag != tar.TypeReg || !belongs(head.Name) {
			return m, fmt.Errorf("%.200q does not belong into a home", head.Name)
		}
		if files++; files > m.Files {
			return m, errors.New("it holds more files than it says")
		}
		if bytes += head.Size; head.Size < 0 || bytes < 0 || bytes > m.Bytes {
			return m, errors.New("it holds more than it says")
		}
		if err := unpackFile(root, head, in); err != nil {
			return m, err
		}
	}
	// To the end, so that the archive's own check of what it holds is made.
	if _, err := io.Copy(io.Discard, io.LimitReader(zip, maxManifest)); err != nil {
		return m, broken(err)
	}
	if files != m.Files || bytes != m.Bytes {
		return m, errors.New("part of it is missing")
	}
	return m, syncTree(dir)
}

func broken(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("its end is missing")
	}
	return fmt.Errorf("it is damaged: %w", err)
}

func readManifest(in *tar.Reader) (manifest, error) {
	var m manifest
	head, err := in.Next()
	if err != nil || head.Name != manifestName || head.Typeflag != tar.TypeReg || head.Size > maxManifest {
		return m, errors.New("it is no backup of PicoBot's")
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return m, broken(err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("it is damaged: %s: %w", manifestName, err)
	}
	switch {
	case m.Format > format:
		return m, fmt.Errorf("a newer PicoBot (%.50q) made it: use that one", m.Version)
	case m.Format != format || m.Files < 1 || m.Files > maxFiles || m.Bytes < 0:
		return m, fmt.Errorf("it is damaged: %s makes no sense", manifestName)
	}
	return m, nil
}

func unpackFile(root *os.Root, head *tar.Header, in io.Reader) error {
	if err := root.MkdirAll(path.Dir(head.Name), 0o700); err != nil {
		return err
	}
	mode := fs.FileMode(head.Mode)&0o700 | 0o600
	f, err := root.OpenFile(filepath.FromSlash(head.Name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("it holds %.200q twice", head.Name)
	}
	if err != nil {
		return err
	}
	n, err := io.Copy(f, in) // as much as the header says: its size was checked
	if err == nil && n != head.Size {
		err = io.ErrUnexpectedEOF
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return broken(err)
	}
	return root.Chtimes(filepath.FromSlash(head.Name), head.ModTime, head.ModTime)
}

// syncTree has the directories below dir on the disk, as their files are.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return syncDir(path)
	})
}
