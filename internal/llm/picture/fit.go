package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/draw"
	_ "image/gif" // decodes GIF
	"image/jpeg"
	"image/png"
	"net/http"
	"sync"
)

const (
	// MaxSide is the longest side, in pixels, that models look at.
	MaxSide = 2048
	// MaxBytes keeps an image below 5 MB when it is written in base64.
	MaxBytes = 3_750_000

	maxPixels = 50_000_000 // of what is decoded at all: 200 MB in memory
	quality   = 85         // of a JPEG, in its own scale
)

// Reasons why an image cannot be shown to a model.
var (
	ErrFormat   = errors.New("its format is not one that models take (JPEG, PNG, GIF, WebP)")
	ErrTooLarge = errors.New("it is too large")
)

// one lets one image be decoded at a time: each takes up to maxPixels of memory,
// and many turns may run at once.
var one sync.Mutex

// Fit returns the image as models take it, and its MIME type: unchanged when it
// fits, else smaller. The same image always becomes the same bytes, so that what a
// provider has cached of a prompt stays good.
func Fit(data []byte) (fitted []byte, mime string, err error) {
	mime = http.DetectContentType(data)
	switch mime {
	case "image/jpeg", "image/png", "image/gif":
	case "image/webp":
		// Nothing here can decode it.
		if len(data) > MaxBytes {
			return nil, "", ErrTooLarge
		}
		return data, mime, nil
	default:
		return nil, "", ErrFormat
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, "", fmt.Errorf("it cannot be decoded: %w", err)
	}
	if max(size.Width, size.Height) <= MaxSide && len(data) <= MaxBytes {
		return data, mime, nil
	}
	if size.Width <= 0 || size.Height <= 0 || size.Width > maxPixels/size.Height {
		return nil, "", ErrTooLarge
	}
	one.Lock()
	defer one.Unlock()
	source, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, "", fmt.Errorf("it cannot be decoded: %w", err)
	}
	for side := MaxSide; side >= 128; side = side * 3 / 4 {
		small := turn(shrink(source, side), orientation(data))
		if fitted, mime, err = encode(small); err != nil || len(fitted) <= MaxBytes {
			return fitted, mime, err
		}
	}
	return nil, "", ErrTooLarge
}

// encode writes a JPEG, or a PNG where something shows through.
func encode(m *image.RGBA) ([]byte, string, error) {
	var out bytes.Buffer
	if m.Opaque() {
		err := jpeg.Encode(&out, m, &jpeg.Options{Quality: quality})
		return out.Bytes(), "image/jpeg", err
	}
	err := png.Encode(&out, m)
	return out.Bytes(), "image/png", err
}

// shrink returns the image with its longest side at most side, every pixel the mean
// of those that it stands for.
func shrink(source image.Image, side int) *image.RGBA {
	from := image.NewRGBA(image.Rect(0, 0, source.Bounds().Dx(), source.Bounds().Dy()))
	draw.Draw(from, from.Bounds(), source, source.Bounds().Min, draw.Src)
	w, h := from.Rect.Dx(), from.Rect.Dy()
	longest := max(w, h)
	if longest <= side {
		return from
	}
	to := image.NewRGBA(image.Rect(0, 0, max(1, w*side/longest), max(1, h*side/longest)))
	for y := range to.Rect.Dy() {
		y0, y1 := y*h/to.Rect.Dy(), max((y+1)*h/to.Rect.Dy(), y*h/to.Rect.Dy()+1)
		for x := range to.Rect.Dx() {
			x0, x1 := x*w/to.Rect.Dx(), max((x+1)*w/to.Rect.Dx(), x*w/to.Rect.Dx()+1)
			var sum [4]int
			for sy := y0; sy < y1; sy++ {
				row := from.Pix[from.PixOffset(x0, sy):from.PixOffset(x1, sy)]
				for i, v := range row {
					sum[i&3] += int(v)
				}
			}
			n := (x1 - x0) * (y1 - y0)
			at := to.PixOffset(x, y)
			for i := range sum {
				to.Pix[at+i] = uint8(sum[i] / n)
			}
		}
	}
	return to
}
