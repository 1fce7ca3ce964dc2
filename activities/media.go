package activities

import (
	"errors"
	"fmt"
	"io"
	"os"

	"picobot/internal/chat"
	"picobot/internal/llm"
	"picobot/internal/llm/picture"
)

// maxImage bounds what is read of one image, in bytes; what goes into a request is
// smaller (picture.MaxBytes).
const maxImage = 20 << 20

// What the images of one request may be together; older ones are only mentioned.
const (
	maxImages     = 10
	maxImageBytes = 20 << 20
)

type imageBudget struct {
	count int
	bytes int
}

// Media reads attachments: files below one directory, named relative to it.
type Media struct{ Dir string }

// Load returns the image a reference points at. URLs are left to the provider.
func (m Media) Load(ref chat.MediaRef) (llm.Image, error) {
	if ref.URL != "" {
		return llm.Image{URL: ref.URL, MIME: ref.MIME}, nil
	}
	f, err := os.OpenInRoot(m.Dir, ref.Path)
	if err != nil {
		return llm.Image{}, fmt.Errorf("read attachment: %w", err)
	}
	defer f.Close() //nolint:errcheck // opened for reading only
	data, err := io.ReadAll(io.LimitReader(f, maxImage+1))
	if err != nil {
		return llm.Image{}, fmt.Errorf("read attachment: %w", err)
	}
	if len(data) > maxImage {
		return llm.Image{}, fmt.Errorf("read attachment: %s is larger than %d bytes", ref.Path, maxImage)
	}
	return llm.Image{MIME: ref.MIME, Data: data}, nil
}

// withImages adds a message's images, as far as the budget goes. One that the model
// cannot be shown becomes a line of text: a conversation must go on when a file of
// it is gone.
func (a *Activities) withImages(m chat.Message, vision bool, left *imageBudget) llm.Message {
	out := llm.Message{Message: m}
	out.Media = nil
	for _, ref := range m.Media {
		switch image, err := a.image(ref, vision, left); {
		case err == nil:
			out.Images = append(out.Images, image)
		default:
			out.Content = joinText(out.Content, "[an image was attached; "+err.Error()+"]")
		}
	}
	return out
}

var (
	errBlind     = errors.New("this model cannot see images")
	errImageGone = errors.New("it cannot be read any more")
	errOldImage  = errors.New("it is not shown again")
)

func (a *Activities) image(ref chat.MediaRef, vision bool, left *imageBudget) (llm.Image, error) {
	if !vision {
		return llm.Image{}, errBlind
	}
	if left.count == 0 || left.bytes == 0 {
		return llm.Image{}, errOldImage
	}
	image, err := a.Media.Load(ref)
	if err != nil {
		a.Logger.Warn("an image cannot be shown to the model", "error", err)
		return llm.Image{}, errImageGone
	}
	if image.URL == "" {
		// Made anew for each attempt, of what the file holds now; the same file always
		// becomes the same bytes, which keeps the prompt's cache good.
		if image.Data, image.MIME, err = picture.Fit(image.Data); err != nil {
			a.Logger.Warn("an image cannot be shown to the model", "error", err)
			return llm.Image{}, err
		}
	}
	if len(image.Data) > left.bytes {
		return llm.Image{}, errOldImage
	}
	left.count, left.bytes = left.count-1, left.bytes-len(image.Data)
	return image, nil
}
