package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Result is the result of a call.
type Result struct {
	Text   string
	Images []Image
	Failed bool // the tool failed; Text is its error
}

// Image is an image in a result.
type Image struct {
	MIME string // as the server sent it
	Data []byte
}

// newResult returns the result of a call as text and images. Resources are named, and never
// fetched.
func newResult(from *sdk.CallToolResult) *Result {
	r := &Result{Failed: from.IsError}
	var texts []string
	structured := from.StructuredContent != nil
	for _, c := range from.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			texts = append(texts, c.Text)
			structured = structured && c.Text == ""
		case *sdk.ImageContent:
			r.Images = append(r.Images, Image{c.MIMEType, c.Data})
		case *sdk.AudioContent:
			texts = append(texts, fmt.Sprintf("(audio, %s, %d bytes, not supported)", c.MIMEType, len(c.Data)))
		case *sdk.ResourceLink:
			texts = append(texts, "(resource "+c.URI+")")
		case *sdk.EmbeddedResource:
			texts = append(texts, resourceText(c.Resource))
		default:
			texts = append(texts, fmt.Sprintf("(%T, not supported)", c))
		}
	}
	if structured { // no text has the same content
		if text, err := json.Marshal(from.StructuredContent); err == nil {
			texts = append(texts, string(text))
		}
	}
	r.Text = strings.Join(texts, "\n")
	return r
}

// resourceText returns a resource that is in the result.
func resourceText(r *sdk.ResourceContents) string {
	switch {
	case r == nil:
		return "(empty resource)"
	case len(r.Blob) > 0:
		return fmt.Sprintf("(resource %s, %s, %d bytes, not supported)", r.URI, r.MIMEType, len(r.Blob))
	}
	return r.Text
}
