package anthropic

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"picobot/internal/llm"
)

// imageTypes are the formats that the API takes.
var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// userContent returns the blocks of a user message, at least one.
func userContent(m llm.Message, vision bool) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	var notes []string
	for _, image := range m.Images {
		block, note := imageBlock(image, vision)
		if note == "" {
			out = append(out, block)
		} else if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	text := strings.Join(append([]string{m.Content}, notes...), "\n")
	if strings.TrimSpace(text) == "" && len(out) == 0 {
		text = emptyUserText
	}
	if strings.TrimSpace(text) != "" {
		// Images first: the model does better when the question follows them.
		out = append(out, sdk.NewTextBlock(strings.TrimPrefix(text, "\n")))
	}
	return out
}

// imageBlock returns an image's block, or what to say in its place. The API
// compares the type with what the bytes are, so the bytes decide.
func imageBlock(image llm.Image, vision bool) (block sdk.ContentBlockParamUnion, note string) {
	if !vision {
		return block, unseenImage
	}
	if len(image.Data) == 0 {
		return sdk.NewImageBlock(sdk.URLImageSourceParam{URL: image.URL}), ""
	}
	kind := http.DetectContentType(image.Data)
	if !slices.Contains(imageTypes, kind) {
		return block, unfitImage
	}
	return sdk.NewImageBlockBase64(kind, base64.StdEncoding.EncodeToString(image.Data)), ""
}
