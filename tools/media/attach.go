// Package media makes attachments of tool results ([tool.Attachment]) from images and PDF files, in sizes that providers
// accept, and recognizes types of files. It knows neither where the files are from nor models: callers set what a model
// accepts ([Accepted]).
package media

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/tools/tool"
)

// The maximum sizes of attachments in bytes. Images are downscaled: see Fit.
const (
	maxPDF       = 5 << 20
	maxImageFile = 20 << 20
)

// maxAttachment returns the maximum size of a file of a media type in bytes.
func maxAttachment(media string) int64 {
	if media == PDF {
		return maxPDF
	}
	return maxImageFile
}

// Of returns the media type of an image or PDF file, by its first bytes,
// or "" for other files.
func Of(name string, head []byte) string {
	if strings.EqualFold(path.Ext(name), ".svg") {
		return "" // text
	}
	for _, m := range []struct{ begin, media string }{
		{"\x89PNG\r\n\x1a\n", "image/png"}, {"\xff\xd8\xff", "image/jpeg"}, {"GIF87a", "image/gif"}, {"GIF89a", "image/gif"}, {"%PDF-", PDF},
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

// PDF is the media type of PDF files.
const PDF = "application/pdf"

// Accepted are the kinds of attachments that a model supports.
type Accepted struct{ Images, PDFs bool }

// supports reports whether the model supports attachments of a media type.
func (a Accepted) supports(media string) bool {
	if media == PDF {
		return a.PDFs
	}
	return a.Images
}

// Read returns a file as an attachment.
func (a Accepted) Read(p workspace.Path, in io.Reader, media string, size int64) (tool.Result, error) {
	if err := a.Check(p.Rel, media, size); err != nil {
		return tool.Result{}, err
	}
	data, err := io.ReadAll(io.LimitReader(in, maxAttachment(media)+1))
	if err != nil {
		return tool.Result{}, fmt.Errorf("read %s: %w", p, err)
	}
	if err := a.Check(p.Rel, media, int64(len(data))); err != nil { // the file has grown
		return tool.Result{}, err
	}
	return Attach(path.Base(p.Rel), p.Rel, media, data)
}

// Check returns an error if a file can't be attached.
func (a Accepted) Check(name, media string, size int64) error {
	kind := "an image"
	if media == PDF {
		kind = "a PDF file"
	}
	switch {
	case !a.supports(media):
		return fmt.Errorf("%s is %s (%s, %d bytes), which this model does not support; rely on its name and the surrounding text", name, kind, media, size)
	case size > maxAttachment(media):
		return fmt.Errorf("%s is too large: %s of %d bytes, maximum %d MiB", name, kind, size, maxAttachment(media)>>20)
	}
	return nil
}

// Attach returns a Result with one attachment; where is its path or URL.
func Attach(name, where, media string, data []byte) (tool.Result, error) {
	kind, note := "PDF", ""
	if media != PDF {
		fitted, as, changed, err := Fit(media, data)
		if err != nil {
			return tool.Result{}, fmt.Errorf("%s can't be attached: %w; rely on its name and the surrounding text", where, err)
		}
		kind, media, data = "Image", as, fitted
		if changed != "" {
			note = ", " + changed
		}
	}
	return tool.Result{
		Output:      fmt.Sprintf("%s read successfully: %s (%s, %d bytes%s) is attached.", kind, where, media, len(data), note),
		Attachments: []tool.Attachment{{Name: name, MIME: media, Data: data}},
	}, nil
}

// IsBinary reports whether a file is binary, by its extension, a NUL byte, or
// many control characters.
func IsBinary(name string, head []byte) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".zip", ".tar", ".gz", ".exe", ".dll", ".so", ".class", ".jar", ".war", ".7z", ".doc", ".docx", ".xls", ".xlsx",
		".ppt", ".pptx", ".odt", ".ods", ".odp", ".bin", ".dat", ".obj", ".o", ".a", ".lib", ".wasm", ".pyc", ".pyo":
		return true
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	control := 0
	for _, c := range head {
		if c < 9 || c > 13 && c < 32 {
			control++
		}
	}
	return control*10 > len(head)*3
}
