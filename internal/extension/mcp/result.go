package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
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
	for _, c := range from.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			texts = append(texts, c.Text)
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
	if !repeated(from.StructuredContent, from.Content, texts) {
		if text, err := json.Marshal(from.StructuredContent); err == nil {
			texts = append(texts, string(text))
		}
	}
	r.Text = strings.Join(texts, "\n")
	return r
}

// maxCompared limits the search of values in texts: their number times the bytes.
const maxCompared = 64 << 20

// repeated reports whether a structured result adds nothing to the content. For a large one that is
// assumed, because servers repeat it as text.
func repeated(structured any, content []sdk.Content, texts []string) bool {
	size := len(strings.Join(texts, ""))
	if structured == nil || size > 0 && values(structured) > maxCompared/size {
		return true
	}
	return said(structured, content, texts)
}

// values returns the number of values in a structured result.
func values(structured any) (n int) {
	switch v := structured.(type) {
	case map[string]any:
		for _, sub := range v {
			n += values(sub)
		}
		return n
	case []any:
		for _, sub := range v {
			n += values(sub)
		}
		return n
	}
	return 1
}

// said reports whether all values in a structured result are in its content, too.
func said(structured any, content []sdk.Content, texts []string) bool {
	switch v := structured.(type) {
	case map[string]any:
		for _, sub := range v {
			if !said(sub, content, texts) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(v, func(sub any) bool { return !said(sub, content, texts) })
	}
	literal, err := json.Marshal(structured)
	if err != nil {
		return false
	}
	text, isText := structured.(string)
	if !isText { // 1 is not in 10
		exact := regexp.MustCompile(`(?:^|[^\w.])` + regexp.QuoteMeta(string(literal)) + `(?:$|[^\w.]|\.(?:\D|$))`)
		return slices.ContainsFunc(texts, exact.MatchString)
	}
	for _, t := range texts {
		if t != "" && (strings.Contains(t, text) || strings.Contains(t, string(literal))) {
			return true
		}
	}
	return slices.ContainsFunc(content, func(c sdk.Content) bool { return inMedia(c, text) })
}

// inMedia reports whether a text is the data, the type or the kind of an image or audio.
func inMedia(c sdk.Content, text string) bool {
	switch c := c.(type) {
	case *sdk.ImageContent:
		return text == "image" || text == c.MIMEType || text == base64.StdEncoding.EncodeToString(c.Data)
	case *sdk.AudioContent:
		return text == "audio" || text == c.MIMEType || text == base64.StdEncoding.EncodeToString(c.Data)
	}
	return false
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
