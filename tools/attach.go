package tools

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/millhand/millhand/internal/files/workspace"
)

// The maximum sizes of attachments in bytes. Images are downscaled: see fitImage.
const (
	maxPDF       = 5 << 20
	maxImageFile = 20 << 20
)

// maxAttachment returns the maximum size of a file of a media type in bytes.
func maxAttachment(media string) int64 {
	if media == pdf {
		return maxPDF
	}
	return maxImageFile
}

// mediaOf returns the media type of an image or PDF file, by its first bytes,
// or "" for other files.
func mediaOf(name string, head []byte) string {
	if strings.EqualFold(path.Ext(name), ".svg") {
		return "" // text
	}
	for _, m := range []struct{ begin, media string }{
		{"\x89PNG\r\n\x1a\n", "image/png"}, {"\xff\xd8\xff", "image/jpeg"}, {"GIF87a", "image/gif"}, {"GIF89a", "image/gif"}, {"%PDF-", pdf},
	} {
		if bytes.HasPrefix(head, []byte(m.begin)) {
			return m.media
		}
	}
	if len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP" {
		return "image/webp"
	}
	return ""
}

const pdf = "application/pdf"

// supports reports whether the session's model supports attachments of a media
// type.
func (env *Env) supports(media string) bool {
	if media == pdf {
		return env.Accepts.PDFs
	}
	return env.Accepts.Images
}

// attach returns a file as an attachment.
func attach(env *Env, p workspace.Path, in io.Reader, media string, size int64) (Result, error) {
	if err := env.attachable(p.Rel, media, size); err != nil {
		return Result{}, err
	}
	data, err := io.ReadAll(io.LimitReader(in, maxAttachment(media)+1))
	if err != nil {
		return Result{}, fmt.Errorf("read %s: %w", p, err)
	}
	if err := env.attachable(p.Rel, media, int64(len(data))); err != nil { // the file has grown
		return Result{}, err
	}
	return attached(path.Base(p.Rel), p.Rel, media, data)
}

// attachable returns an error if a file can't be attached.
func (env *Env) attachable(name, media string, size int64) error {
	kind := "an image"
	if media == pdf {
		kind = "a PDF file"
	}
	switch {
	case !env.supports(media):
		return fmt.Errorf("%s is %s (%s, %d bytes), which this model does not support; rely on its name and the surrounding text", name, kind, media, size)
	case size > maxAttachment(media):
		return fmt.Errorf("%s is too large: %s of %d bytes, maximum %d MiB", name, kind, size, maxAttachment(media)>>20)
	}
	return nil
}

// attached returns a Result with one attachment; where is its path or URL.
func attached(name, where, media string, data []byte) (Result, error) {
	kind, note := "PDF", ""
	if media != pdf {
		fitted, as, changed, err := fitImage(media, data)
		if err != nil {
			return Result{}, fmt.Errorf("%s can't be attached: %w; rely on its name and the surrounding text", where, err)
		}
		kind, media, data = "Image", as, fitted
		if changed != "" {
			note = ", " + changed
		}
	}
	return Result{
		Output:      fmt.Sprintf("%s read successfully: %s (%s, %d bytes%s) is attached.", kind, where, media, len(data), note),
		Attachments: []Attachment{{Name: name, MIME: media, Data: data}},
	}, nil
}
