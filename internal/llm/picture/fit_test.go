package picture_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/llm/picture"
)

func asPNG(t *testing.T, m image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, m))
	return out.Bytes()
}

func asJPEG(t *testing.T, m image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, jpeg.Encode(&out, m, &jpeg.Options{Quality: 95}))
	return out.Bytes()
}

// halves is an image whose left half is red and whose right half is blue.
func halves(w, h int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{R: 255, A: 255}
			if x >= w/2 {
				c = color.RGBA{B: 255, A: 255}
			}
			m.SetRGBA(x, y, c)
		}
	}
	return m
}

func decoded(t *testing.T, data []byte) image.Image {
	t.Helper()
	m, _, err := image.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	return m
}

func TestFit_SmallImages_StayAsTheyAre(t *testing.T) {
	var moving bytes.Buffer
	require.NoError(t, gif.Encode(&moving, halves(20, 10), nil))
	webp := append([]byte("RIFF\x10\x00\x00\x00WEBPVP8 "), make([]byte, 16)...)
	for mime, data := range map[string][]byte{"image/png": asPNG(t, halves(20, 10)), "image/jpeg": asJPEG(t, halves(picture.MaxSide, 10)), "image/gif": moving.Bytes(), "image/webp": webp} {
		got, kind, err := picture.Fit(data)
		require.NoError(t, err)
		require.Equal(t, mime, kind)
		require.Equal(t, data, got)
	}
}

func TestFit_LargeImages_BecomeSmallerAndAlwaysTheSame(t *testing.T) {
	data := asPNG(t, halves(2400, 1200))
	got, mime, err := picture.Fit(data)
	require.NoError(t, err)
	require.Equal(t, "image/jpeg", mime)
	m := decoded(t, got)
	require.Equal(t, image.Pt(picture.MaxSide, picture.MaxSide/2), m.Bounds().Size())
	r, _, b, _ := m.At(100, 500).RGBA()
	require.Greater(t, r, b)
	r, _, b, _ = m.At(picture.MaxSide-100, 500).RGBA()
	require.Greater(t, b, r)
	again, _, err := picture.Fit(data)
	require.NoError(t, err)
	require.Equal(t, got, again)
}

func TestFit_WhatShowsThrough_StillDoes(t *testing.T) {
	got, mime, err := picture.Fit(asPNG(t, image.NewNRGBA(image.Rect(0, 0, 4000, 2))))
	require.NoError(t, err)
	require.Equal(t, "image/png", mime)
	_, _, _, alpha := decoded(t, got).At(1, 0).RGBA()
	require.Zero(t, alpha)
}

func TestFit_FewPixelsInManyBytes_BecomeFewerBytes(t *testing.T) {
	noise := image.NewNRGBA(image.Rect(0, 0, 1050, 1050))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = uint8(random.Uint32())
	}
	data := asPNG(t, noise)
	require.Greater(t, len(data), picture.MaxBytes)
	got, _, err := picture.Fit(data)
	require.NoError(t, err)
	require.LessOrEqual(t, len(got), picture.MaxBytes)
}

// exif returns a JPEG that says how it is to be turned.
func exif(t *testing.T, m image.Image, orientation uint16, order binary.AppendByteOrder) []byte {
	t.Helper()
	head := "MM"
	if order == binary.LittleEndian {
		head = "II"
	}
	tiff := order.AppendUint16([]byte(head), 42)
	tiff = order.AppendUint32(tiff, 8)
	tiff = order.AppendUint16(tiff, 1)
	tiff = order.AppendUint16(tiff, 0x0112)
	tiff = order.AppendUint16(tiff, 3)
	tiff = order.AppendUint32(tiff, 1)
	tiff = order.AppendUint16(tiff, orientation)
	tiff = append(tiff, 0, 0, 0, 0, 0, 0)
	segment := append([]byte("Exif\x00\x00"), tiff...)
	plain := asJPEG(t, m)
	out := append([]byte{}, plain[:2]...)
	out = append(out, 0xff, 0xe1)
	out = binary.BigEndian.AppendUint16(out, uint16(len(segment)+2))
	out = append(out, segment...)
	return append(out, plain[2:]...)
}

func TestFit_AnImageThatLiesOnItsSide_IsTurned(t *testing.T) {
	for orientation, red := range map[uint16]image.Point{ // where the red half is: left, right, top or bottom
		1: {-1, 0}, 2: {1, 0}, 3: {1, 0}, 4: {-1, 0}, 5: {0, -1}, 6: {0, -1}, 7: {0, 1}, 8: {0, 1},
	} {
		for _, order := range []binary.AppendByteOrder{binary.BigEndian, binary.LittleEndian} {
			got, _, err := picture.Fit(exif(t, halves(2100, 120), orientation, order))
			require.NoError(t, err)
			m := decoded(t, got)
			size := m.Bounds().Size()
			require.Equal(t, orientation >= 5, size.Y > size.X, "orientation %d", orientation)
			at := image.Pt(size.X/2+red.X*size.X*2/5, size.Y/2+red.Y*size.Y*2/5)
			r, _, b, _ := m.At(at.X, at.Y).RGBA()
			require.Greater(t, r, b, "orientation %d", orientation)
		}
	}
}

func TestFit_WhatIsNoImage_IsRefused(t *testing.T) {
	bomb := asPNG(t, image.NewGray(image.Rect(0, 0, 1, 1)))
	binary.BigEndian.PutUint32(bomb[16:], 100_000) // its width, so it claims
	binary.BigEndian.PutUint32(bomb[20:], 100_000)
	for name, data := range map[string][]byte{
		"nothing": nil, "text": []byte("hello"), "a drawing": []byte("<svg/>"), "a bitmap": []byte("BM\x00\x00"), "half a PNG": asPNG(t, halves(2100, 300))[:200],
		"a bomb": bomb, "a large WebP": append([]byte("RIFF\x10\x00\x00\x00WEBPVP8 "), make([]byte, picture.MaxBytes)...), "half a JPEG": asJPEG(t, halves(9, 9))[:20],
	} {
		_, _, err := picture.Fit(data)
		require.Error(t, err, name)
	}
}

func FuzzFit(f *testing.F) {
	var small bytes.Buffer
	_ = jpeg.Encode(&small, halves(4, 4), nil)
	f.Add(small.Bytes())
	f.Add([]byte("\xff\xd8\xff\xe1\x00\x22Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if size, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && (size.Width > 4096 || size.Height > 4096) {
			return // decoding it takes as long as it takes
		}
		if got, mime, err := picture.Fit(data); err == nil && (len(got) > picture.MaxBytes || mime == "") {
			t.Fatalf("%d bytes of %q", len(got), mime)
		}
	})
}
