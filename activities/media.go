package activities

import (
	"fmt"
	"io"
	"os"

	"picobot/internal/chat"
	"picobot/internal/llm"
)

// maxImage bounds what one image puts into a request, in bytes; providers refuse
// larger ones.
const maxImage = 20 << 20

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

// withImages adds a message's images. One that the model cannot be shown becomes a
// line of text: a conversation must go on when a file of it is gone.
func (a *Activities) withImages(m chat.Message, vision bool) llm.Message {
	out := llm.Message{Message: m}
	out.Media = nil
	for _, ref := range m.Media {
		if !vision {
			out.Content = joinText(out.Content, "[an image was attached; this model cannot see images]")
			continue
		}
		image, err := a.Media.Load(ref)
		if err != nil {
			a.Logger.Warn("an image cannot be shown to the model", "error", err)
			out.Content = joinText(out.Content, "[an image was attached; it cannot be read any more]")
			continue
		}
		out.Images = append(out.Images, image)
	}
	return out
}
