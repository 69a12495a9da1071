package media

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // a format of attachments
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // a format of attachments
)

// The limits of an image that every provider accepts: Anthropic refuses images of more than
// 2,000 pixels in width or height if a conversation has more than 20, and some gateways
// refuse more than 5 MiB in base64.
const (
	maxDimension = 2000
	MaxImage     = 5 << 20 / 4 * 3
)

// maxDecoded limits the memory in bytes that an image needs while it is downscaled: a small
// file can contain a very large image.
const maxDecoded = 128 << 20

// Fit downscales an image if it exceeds the limits of providers. Images that this
// program can't decode are returned as they are if they are small enough: the provider may
// know more of them. The note is what was changed, "" for nothing.
func Fit(media string, data []byte) (fitted []byte, as, note string, err error) {
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	large := max(config.Width, config.Height) > maxDimension
	switch {
	case (err != nil || !large) && len(data) <= MaxImage:
		return data, media, "", nil
	case err != nil:
		return nil, "", "", fmt.Errorf("it has %d bytes, and downscaling it failed: %w", len(data), err)
	case config.Width*config.Height > maxDecoded/bytesPerPixel(config.ColorModel):
		return nil, "", "", fmt.Errorf("it has %d × %d pixels, which is too large to downscale it", config.Width, config.Height)
	}
	original, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, "", "", fmt.Errorf("it has %d × %d pixels, and downscaling it failed: %w", config.Width, config.Height, err)
	}
	for pixels := min(maxDimension, max(config.Width, config.Height)); pixels >= 1; pixels /= 2 {
		small := scaled(original, pixels)
		fitted, as, err := encodeImage(small, media)
		if err != nil {
			return nil, "", "", fmt.Errorf("downscaling it failed: %w", err)
		}
		if len(fitted) <= MaxImage {
			size := small.Bounds().Size()
			return fitted, as, fmt.Sprintf("downscaled: %d × %d pixels instead of %d × %d", size.X, size.Y, config.Width, config.Height), nil
		}
	}
	return nil, "", "", errors.New("downscaling it failed")
}

// bytesPerPixel returns the size of a decoded pixel.
func bytesPerPixel(m color.Model) int {
	switch m {
	case color.NRGBA64Model, color.RGBA64Model:
		return 8
	}
	return 4
}

// scaled returns an image whose larger dimension has so many pixels.
func scaled(from image.Image, pixels int) image.Image {
	size := from.Bounds().Size()
	longer := max(size.X, size.Y)
	to := image.NewNRGBA(image.Rect(0, 0, max(size.X*pixels/longer, 1), max(size.Y*pixels/longer, 1)))
	draw.BiLinear.Scale(to, to.Bounds(), from, from.Bounds(), draw.Src, nil)
	return to
}

// encodeImage encodes an image: as JPEG if it was one or is too large as PNG.
func encodeImage(m image.Image, media string) (data []byte, as string, err error) {
	var out bytes.Buffer
	if media != "image/jpeg" {
		if err := png.Encode(&out, m); err != nil {
			return nil, "", err
		}
		if out.Len() <= MaxImage {
			return out.Bytes(), "image/png", nil
		}
		out.Reset()
	}
	err = jpeg.Encode(&out, m, &jpeg.Options{Quality: 85})
	return out.Bytes(), "image/jpeg", err
}
