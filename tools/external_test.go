package tools_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
)

func TestExternalToolsAreChecked(t *testing.T) {
	for schema, inputs := range map[string]map[string]string{
		`{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}`: {`{"n": "3"}`: `{"n":3}`, `{}`: "missing required argument n", `[1]`: "must be a JSON object"},
		``:                    {`{"any": [1]}`: `{"any":[1]}`, ``: `{}`},
		`{"type": "strange"}`: {`{"any": 1}`: `{"any":1}`},
		`{"properties": {"a": {"$ref": "https://example.com/schema"}}}`: {`{"a": 1}`: `{"a":1}`},
	} {
		s := tooltest.SetUp(t, "readonly", nil)
		s.WithExternal(schema, func(arguments string) (tools.ExternalResult, error) {
			return tools.ExternalResult{Text: arguments}, nil
		})
		for input, want := range inputs {
			out := s.Raw("files_read", input)
			if strings.HasPrefix(want, "{") && (out.Status != tools.Completed || out.Output != want) || !strings.Contains(out.Text(), want) {
				t.Errorf("%s: %s: got %s %q, want %q", schema, input, out.Status, out.Text(), want)
			}
			if out.Extension != "files" {
				t.Errorf("extension is %q", out.Extension)
			}
		}
	}
}

func TestExternalToolsAreDeniedByDefault(t *testing.T) {
	s := tooltest.SetUp(t, "full", nil)
	called := false
	s.Equip(nil, tools.NewExternal(tools.External{Name: "files_read", Extension: "files", Call: func(context.Context, tools.ExternalCall) (tools.ExternalResult, error) {
		called = true
		return tools.ExternalResult{}, nil
	}}))
	if out := s.Raw("files_read", "{}"); out.Status != tools.Denied || called || out.Extension != "files" {
		t.Errorf("got %+v", out)
	}
}

func TestResultsOfExtensionsAreBounded(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	shown := []tools.Attachment{{MIME: "text/html", Data: picture.Bytes()}, {MIME: "image/svg+xml", Data: []byte("<svg/>")}, {MIME: "image/png", Data: make([]byte, 9)}}
	tests := []struct {
		name   string
		result tools.ExternalResult
		err    error
		images bool
		status tools.Status
		want   string
	}{
		{"text", tools.ExternalResult{Text: "héllo"}, nil, true, tools.Completed, "héllo"},
		{"nothing", tools.ExternalResult{}, nil, true, tools.Completed, "(no output)"},
		{"progress and styles", tools.ExternalResult{Text: "1%\r100%\n\x1b[32mok\x1b[0m\r\n"}, nil, true, tools.Completed, "100%\nok"},
		{"a failure with styles", tools.ExternalResult{Text: "\x1b[31mfile\x1b[0m not found", Failed: true}, nil, true, tools.Failed, "Error: file not found"},
		{"images", tools.ExternalResult{Text: "see", Images: shown}, nil, true, tools.Completed, "see\n(image 1, image/png, 75 bytes, is attached)\n(image 2, image/svg+xml, 6 bytes: not a PNG, JPEG, GIF or WebP image)\n(image 3, image/png, 9 bytes: not a PNG, JPEG, GIF or WebP image)"},
		{"a model without images", tools.ExternalResult{Images: shown[:1]}, nil, false, tools.Completed, "(image 1, text/html, 75 bytes: this model does not support images)"},
		{"a failure", tools.ExternalResult{Text: "file not found", Failed: true}, nil, true, tools.Failed, "Error: file not found"},
		{"a failure without text", tools.ExternalResult{Failed: true}, nil, true, tools.Failed, "Error: tool files_read failed without an error message"},
		{"a long failure", tools.ExternalResult{Text: strings.Repeat("y", 5000), Failed: true}, nil, true, tools.Failed, "Error: tool files_read failed\n\n" + strings.Repeat("y", 5000)},
		{"an error", tools.ExternalResult{}, errors.New("it exited"), true, tools.Failed, "Error: it exited"},
	}
	for _, tt := range tests {
		s := tooltest.SetUp(t, "readonly", nil)
		s.WithExternal("", func(string) (tools.ExternalResult, error) { return tt.result, tt.err })
		s.Env.Accepts.Images = tt.images
		out := s.Raw("files_read", "{}")
		if got := out.Text(); out.Status != tt.status || got != tt.want {
			t.Errorf("%s: got %s %q, want %q", tt.name, out.Status, got, tt.want)
		}
	}
	s := tooltest.SetUp(t, "readonly", nil)
	s.WithExternal("", func(string) (tools.ExternalResult, error) {
		return tools.ExternalResult{Text: strings.Repeat("line\n", 5000)}, nil
	})
	if out := s.Raw("files_read", "{}"); !out.Truncated || len(out.Output) > 60<<10 {
		t.Errorf("an output of %d bytes is not truncated", len(out.Output))
	}
	if spec := tools.NewExternal(tools.External{Name: "a", Description: strings.Repeat("é", 4096)}).Spec(); len(spec.Description) > 2<<10 || spec.ReadOnly || !spec.Parallel {
		t.Errorf("got %+v", spec)
	}
}
