package mcp

import (
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestStructuredContentIsGivenOnce(t *testing.T) {
	picture := &sdk.ImageContent{MIMEType: "image/png", Data: []byte{1, 2, 3}}
	for name, c := range map[string]struct {
		content    []sdk.Content
		structured any
		want       string
	}{
		"the same JSON":  {[]sdk.Content{&sdk.TextContent{Text: `{"a": "x\"y", "n": 1}`}}, map[string]any{"a": `x"y`, "n": 1.0}, `{"a": "x\"y", "n": 1}`},
		"the same text":  {[]sdk.Content{&sdk.TextContent{Text: "line 1\nline 2"}}, map[string]any{"content": "line 1\nline 2"}, "line 1\nline 2"},
		"items":          {[]sdk.Content{&sdk.TextContent{Text: "a"}, &sdk.TextContent{Text: "5"}}, map[string]any{"result": []any{"a", 5.0}}, "a\n5"},
		"another text":   {[]sdk.Content{&sdk.TextContent{Text: "found"}}, map[string]any{"n": 3.0}, "found\n{\"n\":3}"},
		"part of one":    {[]sdk.Content{&sdk.TextContent{Text: "10 of 3.5"}}, map[string]any{"n": 1.0}, "10 of 3.5\n{\"n\":1}"},
		"a sentence":     {[]sdk.Content{&sdk.TextContent{Text: "There are 3."}}, map[string]any{"n": 3.0}, "There are 3."},
		"no text":        {nil, map[string]any{"n": 3.0}, `{"n":3}`},
		"an empty text":  {[]sdk.Content{&sdk.TextContent{}}, map[string]any{"a": ""}, "\n{\"a\":\"\"}"},
		"the same image": {[]sdk.Content{picture}, map[string]any{"content": []any{map[string]any{"type": "image", "mimeType": "image/png", "data": "AQID"}}}, ""},
	} {
		if got := newResult(&sdk.CallToolResult{Content: c.content, StructuredContent: c.structured}); got.Text != c.want {
			t.Errorf("%s: got %q, want %q", name, got.Text, c.want)
		}
	}
}

// A server must not be able to make the comparison last.
func TestLargeStructuredContentIsNotCompared(t *testing.T) {
	all := make([]any, 100_000)
	for i := range all {
		all[i] = float64(i)
	}
	text := strings.Repeat("x", 10<<20)
	got := newResult(&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, StructuredContent: map[string]any{"all": all}})
	if got.Text != text {
		t.Errorf("%d bytes, want the text alone", len(got.Text))
	}
}
