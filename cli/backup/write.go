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
	"path/filepath"
	"strings"
	"time"

	"picobot/internal/home"
	"picobot/store"
)

// Options say what is written where.
type Options struct {
	Home      home.Home
	File      string
	Workspace bool   // the workspace of the home too
	Replace   bool   // a file that is there already
	Version   string // of this PicoBot
	Now       time.Time
	// Note tells the person what is not in the archive as it was expected.
	Note func(text string)
}

// Result is what became of it.
type Result struct {
	File      string `json:"file"`
	Bytes     int64  `json:"bytes"` // of the file
	Files     int64  `json:"files"` // in it
	Sessions  int64  `json:"sessions"`
	Messages  int64  `json:"messages"`
	CreatedAt int64  `json:"created_at"` // ms
}

// Write writes a backup of a home, which may be running. The file appears when it is
// complete and on the disk, readable for its owner only: it has keys in it.
func Write(ctx context.Context, o Options) (r Result, err error) {
	if o.File, err = filepath.Abs(o.File); err != nil {
		return r, fmt.Errorf("back up: %w", err)
	}
	if err := o.mayWrite(); err != nil {
		return r, err
	}
	// Beside the file itself: there is the room for it, and a rename stays on the disk.
	work, err := os.MkdirTemp(filepath.Dir(o.File), ".picobot-backup-*")
	if err != nil {
		return r, fmt.Errorf("back up: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()

	// The record first: what its rows name (media) is on the disk before they are.
	record := filepath.Join(work, "sessions.db")
	report, err := store.Copy(ctx, o.Home.StorageDB(), record)
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("there is no record in %s, so there is nothing to back up: name another home with --home", o.Home.Dir)
	}
	if err != nil {
		return r, err
	}
	list, err := o.list(record)
	if err != nil {
		return r, err
	}
	m := manifest{
		Format: format, CreatedAt: o.Now.UnixMilli(), Version: o.Version, Schema: report.Schema, Workspace: o.Workspace,
		Files: int64(len(list)),
	}
	for _, e := range list {
		m.Bytes += e.size
	}
	done := filepath.Join(work, "archive")
	size, err := o.archive(ctx, done, m, list)
	if err != nil {
		return r, fmt.Errorf("back up: %w", err)
	}
	if err := place(done, o.File, o.Replace); err != nil {
		return r, fmt.Errorf("back up: %w", err)
	}
	return Result{File: o.File, Bytes: size, Files: m.Files, Sessions: report.Sessions, Messages: report.Messages, CreatedAt: m.CreatedAt}, nil
}

// mayWrite refuses a file that the backup would be part of, or that it would destroy.
func (o Options) mayWrite() error {
	in, err := filepath.Rel(o.Home.Dir, o.File)
	inside := err == nil && filepath.IsLocal(in)
	for _, d := range append([]string{workspaceName}, dirs...) {
		if inside && strings.HasPrefix(filepath.ToSlash(in), d+"/") {
			return fmt.Errorf("%s is in what is backed up: name a file outside of the home", o.File)
		}
	}
	info, err := os.Lstat(o.File)
	switch {
	case err != nil:
		return nil // there is none, or the attempt tells what is wrong
	case !o.Replace:
		return fmt.Errorf("%s exists already: name another file, or replace it with --force", o.File)
	case !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeSymlink:
		return fmt.Errorf("%s is not a file that can be replaced: name another one", o.File)
	case inside && !zipped(o.File):
		return fmt.Errorf("%s is a file of the home and no backup: name another one", o.File)
	}
	return nil
}

// zipped reports whether a file begins as backups do.
func zipped(path string) bool {
	f, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // opened for reading only
	var magic [2]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && magic == [2]byte{0x1f, 0x8b}
}

// place puts a finished file where it belongs.
func place(from, to string, replace bool) error {
	if replace {
		if err := os.Rename(from, to); err != nil {
			return err
		}
	} else if err := os.Link(from, to); err != nil { // unlike a rename, never over another file
		if !errors.Is(err, fs.ErrExist) {
			return os.Rename(from, to) // the file system knows no links
		}
		return err
	}
	return syncDir(filepath.Dir(to))
}

// archive writes the archive and returns its size.
func (o Options) archive(ctx context.Context, path string, m manifest, list []entry) (size int64, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	zip := gzip.NewWriter(f)
	out := tar.NewWriter(zip)
	about, err := json.Marshal(m)
	if err != nil {
		return 0, err
	}
	head := &tar.Header{Name: manifestName, Mode: 0o600, Size: int64(len(about)), ModTime: o.Now, Format: tar.FormatPAX}
	if err := out.WriteHeader(head); err != nil {
		return 0, err
	}
	if _, err := out.Write(about); err != nil {
		return 0, err
	}
	for _, e := range list {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err := o.add(out, e); err != nil {
			return 0, fmt.Errorf("%s: %w", e.name, err)
		}
	}
	if err := errors.Join(out.Close(), zip.Close(), f.Sync()); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// add writes one file. It has in the archive the size that it had when it was found,
// whatever becomes of it meanwhile.
func (o Options) add(out *tar.Writer, e entry) error {
	head := &tar.Header{Name: e.name, Mode: int64(e.mode), Size: e.size, ModTime: e.at, Format: tar.FormatPAX}
	if err := out.WriteHeader(head); err != nil {
		return err
	}
	f, err := os.Open(e.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var n int64
	if err == nil {
		n, err = io.CopyN(out, f, e.size)
		_ = f.Close()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	if n < e.size {
		o.Note(e.name + " changed while it was read: it is not whole in this backup")
		_, err = io.CopyN(out, zeros{}, e.size-n)
		return err
	}
	return nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
