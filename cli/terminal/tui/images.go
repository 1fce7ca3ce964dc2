package tui

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// maxImage bounds one file, in bytes.
const maxImage = 32 << 20

// findImages reads the files that a pasted text names. If one is not there, the text
// is only a text.
func findImages(r readImages) imagesRead {
	out := imagesRead{pasted: r.pasted}
	for _, path := range r.paths {
		img, err := readImage(path)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, errNoImage) {
			return imagesRead{pasted: r.pasted}
		}
		if err != nil {
			return imagesRead{pasted: r.pasted, err: err, failed: filepath.Base(path)}
		}
		out.images = append(out.images, img)
	}
	return out
}

var errNoImage = errors.New("not an image")

func readImage(path string) (Image, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return Image{}, err
		}
		path = filepath.Join(home, rest)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Image{}, err
	case !info.Mode().IsRegular():
		return Image{}, errNoImage
	case info.Size() > maxImage:
		return Image{}, errors.New("the file is larger than 32 MB")
	}
	f, err := os.Open(path)
	if err != nil {
		return Image{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxImage))
	if err := errors.Join(err, f.Close()); err != nil {
		return Image{}, err
	}
	mime := http.DetectContentType(data)
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return Image{Name: filepath.Base(path), MIME: mime, Data: data}, nil
	}
	return Image{}, errNoImage
}
