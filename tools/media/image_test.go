package media_test

import (
	"bytes"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/media"
)

// drawing encodes an image of a size; noise can't be compressed.
func drawing(tb testing.TB, width, height int, media string, noise bool) string {
	tb.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	if noise {
		r := rand.New(rand.NewPCG(1, 2))
		for i := range m.Pix {
			m.Pix[i] = byte(r.Uint32()) | 0x80
		}
	} else {
		m.Set(0, 0, color.White)
	}
	var out bytes.Buffer
	var err error
	if media == "image/jpeg" {
		err = jpeg.Encode(&out, m, &jpeg.Options{Quality: 100})
	} else {
		err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, m)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func TestLargeImagesAreDownscaled(t *testing.T) {
	bomb := []byte(drawing(t, 8, 8, "image/png", false))[:33] // the header, with a checksum at its end
	bomb[18], bomb[19], bomb[22], bomb[23] = 0x40, 0, 0x40, 0
	sum := crc32.ChecksumIEEE(bomb[12:29])
	copy(bomb[29:], []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	tests := []struct {
		name, content string
		media, want   string // the attachment's type, and the text of the output; no type for an error
		width, height int
	}{
		{"small.png", drawing(t, 2000, 100, "image/png", false), "image/png", "bytes) is attached", 2000, 100},
		{"wide.png", drawing(t, 9000, 90, "image/png", false), "image/png", "downscaled: 2000 × 20 pixels instead of 9000 × 90) is attached", 2000, 20},
		{"line.png", drawing(t, 4001, 1, "image/png", false), "image/png", "2000 × 1 pixels instead of 4001 × 1", 2000, 1},
		{"tall.jpg", drawing(t, 100, 2500, "image/jpeg", false), "image/jpeg", "80 × 2000 pixels instead of 100 × 2500", 80, 2000},
		{"noise.png", drawing(t, 1100, 1100, "image/png", true), "image/jpeg", "1100 × 1100 pixels instead of 1100 × 1100", 1100, 1100},
		{"bomb.png", string(bomb), "", "bomb.png can't be attached: it has 16384 × 16384 pixels, which is too large", 0, 0},
		{"cut.png", drawing(t, 2500, 100, "image/png", true)[:50000], "", "cut.png can't be attached: it has 2500 × 100 pixels, and downscaling it failed", 0, 0},
		{"unknown.png", tooltest.Pixel + strings.Repeat("x", media.MaxImage), "", "can't be attached", 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && tt.name == "noise.png" {
				t.Skip("encodes a large image many times")
			}
			s := tooltest.SetUp(t, "readonly", map[string]string{tt.name: tt.content})
			s.Env.Accepts.Images = true
			out := s.Call("read", tooltest.Args{"filePath": tt.name})
			if tt.media == "" {
				s.Want(out, tools.Failed, tt.want)
				return
			}
			s.Want(out, tools.Completed, tt.want)
			a := out.Attachments[0]
			if len(a.Data) > media.MaxImage || a.MIME != tt.media || media.Of("", a.Data) != tt.media {
				t.Errorf("%s of %d bytes, which begin %q", a.MIME, len(a.Data), a.Data[:8])
			}
			if c, _, err := image.DecodeConfig(bytes.NewReader(a.Data)); err != nil || c.Width != tt.width || c.Height != tt.height {
				t.Errorf("%d × %d, %v", c.Width, c.Height, err)
			}
		})
	}
}

// Whatever bytes an image has, it is attached within the limits, or refused.
func FuzzFitImage(f *testing.F) {
	f.Add([]byte(drawing(f, 2100, 4, "image/png", false)))
	f.Add([]byte(drawing(f, 4, 2100, "image/jpeg", false)))
	f.Add([]byte("RIFF\x00\x00\x00\x00WEBPVP8 "))
	f.Fuzz(func(t *testing.T, data []byte) {
		kind := media.Of("", data)
		if kind == "" || kind == media.PDF {
			return
		}
		fitted, as, note, err := media.Fit(kind, data)
		if err != nil {
			return
		}
		if len(fitted) > media.MaxImage || (note == "") != bytes.Equal(fitted, data) || media.Of("", fitted) != as {
			t.Errorf("%d bytes of %s, %q", len(fitted), as, note)
		}
	})
}
