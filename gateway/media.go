package gateway

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"picobot/internal/chat"
	"picobot/internal/protocol"
)

// mediaKeeper checks attachments and keeps their contents. Files get the name of
// their contents, below dir: the same picture twice is one file, and a file in the
// workspace may change later without changing what was said.
type mediaKeeper struct {
	dir       string
	workspace string
	maxBytes  int64
	now       func() time.Time
}

// keep returns references to the attachments once their contents are safe on disk.
// bad says what is wrong with them, err what is wrong here.
func (k mediaKeeper) keep(list []protocol.Media) (refs []chat.MediaRef, bad, err error) {
	for i, m := range list {
		ref, bad, err := k.keepOne(m)
		if bad != nil {
			return nil, fmt.Errorf("attachment %d: %w", i+1, bad), nil
		}
		if err != nil {
			return nil, nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil, nil
}

func (k mediaKeeper) keepOne(m protocol.Media) (ref chat.MediaRef, bad, err error) {
	if m.Type != "image" {
		return ref, fmt.Errorf("type %q cannot be shown to a model: only image can", m.Type), nil
	}
	given := 0
	for _, s := range []string{m.URL, m.Path, m.Data} {
		if s != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return ref, errors.New("give exactly one of url, path and data"), nil
	case m.URL != "":
		ref, bad = linked(m)
		return ref, bad, nil
	case m.Path != "":
		data, bad := k.read(m.Path)
		if bad != nil {
			return ref, bad, nil
		}
		return k.store(data, filepath.Base(m.Path))
	}
	data, bad := base64.StdEncoding.DecodeString(m.Data)
	if bad != nil {
		return ref, errors.New("data is not base64"), nil
	}
	return k.store(data, "")
}

// linked is an image that the model's provider fetches.
func linked(m protocol.Media) (chat.MediaRef, error) {
	u, err := url.Parse(m.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return chat.MediaRef{}, errors.New("url must be an http or https address")
	}
	if m.MIME != "" && !strings.HasPrefix(m.MIME, "image/") {
		return chat.MediaRef{}, fmt.Errorf("mime %q is no image", m.MIME)
	}
	return chat.MediaRef{Type: "image", URL: m.URL, MIME: m.MIME}, nil
}

// read reads a file of the workspace. Links that lead out of it lead nowhere.
func (k mediaKeeper) read(path string) (_ []byte, bad error) {
	refused := errors.New("path names no file inside the workspace that can be read")
	if filepath.IsAbs(path) {
		rel, err := filepath.Rel(k.workspace, path)
		if err != nil {
			return nil, refused
		}
		path = rel
	}
	root, err := os.OpenRoot(k.workspace)
	if err != nil {
		return nil, refused
	}
	defer root.Close() //nolint:errcheck // only read from
	// Looked at before it is opened: opening a pipe would wait for its writer.
	if info, err := root.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, refused
	}
	f, err := root.Open(path)
	if err != nil {
		return nil, refused
	}
	defer f.Close() //nolint:errcheck // only read from
	data, err := io.ReadAll(io.LimitReader(f, k.maxBytes+1))
	if err != nil {
		return nil, refused
	}
	return data, nil
}

// extension returns the file name extension of an image that models can see.
func extension(mime string) (string, bool) {
	switch mime {
	case "image/png":
		return ".png", true
	case "image/jpeg":
		return ".jpg", true
	case "image/gif":
		return ".gif", true
	case "image/webp":
		return ".webp", true
	}
	return "", false
}

// store writes contents to their file, synced together with its directory.
func (k mediaKeeper) store(data []byte, name string) (ref chat.MediaRef, bad, err error) {
	if int64(len(data)) > k.maxBytes {
		return ref, fmt.Errorf("the image is larger than %d bytes", k.maxBytes), nil
	}
	// What is in it counts, not what it is said to be.
	mime := http.DetectContentType(data)
	ext, ok := extension(mime)
	if !ok {
		return ref, errors.New("this is no image: send PNG, JPEG, GIF or WebP"), nil
	}
	sum := sha256.Sum256(data)
	file := hex.EncodeToString(sum[:]) + ext
	if err := k.write(file, data); err != nil {
		return ref, nil, fmt.Errorf("keep attachment: %w", err)
	}
	return chat.MediaRef{Type: "image", Path: file, MIME: mime, Name: name, Size: int64(len(data))}, nil, nil
}

func (k mediaKeeper) write(file string, data []byte) (err error) {
	path := filepath.Join(k.dir, file)
	if info, err := os.Stat(path); err == nil && info.Size() == int64(len(data)) {
		// Young again, so that no cleanup takes it before the row that names it is written.
		now := k.now()
		if err := os.Chtimes(path, now, now); err == nil {
			return syncDir(k.dir)
		}
	}
	tmp, err := os.CreateTemp(k.dir, ".new-*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(k.dir)
}

// syncDir makes new names in a directory survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// KeepImage returns what keeps images of other channels: below dir, named by their
// contents, in a form that models can be shown. bad says what is wrong with one.
func KeepImage(dir string, maxBytes int64, now func() time.Time) func(data []byte, name string) (ref chat.MediaRef, bad, err error) {
	return mediaKeeper{dir: dir, maxBytes: maxBytes, now: now}.store
}
