package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"strings"
	"testing"
)

// withExternal gives a stage an external tool of the name files_read.
func (s *stage) withExternal(schema string, call func(arguments string) (ExternalResult, error)) {
	s.Helper()
	s.allow("files_read", "*")
	s.equip(nil, NewExternal(External{
		Name: "files_read", Description: "Read a file. " + strings.Repeat("x", 4096), Extension: "files", Schema: json.RawMessage(schema),
		Call: func(_ context.Context, c ExternalCall) (ExternalResult, error) {
			return call(string(c.Arguments))
		},
	}))
}

func TestExternalToolsAreChecked(t *testing.T) {
	for schema, inputs := range map[string]map[string]string{
		`{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}`: {`{"n": "3"}`: `{"n":3}`, `{}`: "missing required argument n", `[1]`: "must be a JSON object"},
		``:                    {`{"any": [1]}`: `{"any":[1]}`, ``: `{}`},
		`{"type": "strange"}`: {`{"any": 1}`: `{"any":1}`},
		`{"properties": {"a": {"$ref": "https://example.com/schema"}}}`: {`{"a": 1}`: `{"a":1}`},
	} {
		s := setUp(t, "readonly", nil)
		s.withExternal(schema, func(arguments string) (ExternalResult, error) { return ExternalResult{Text: arguments}, nil })
		for input, want := range inputs {
			out := s.raw("files_read", input)
			if strings.HasPrefix(want, "{") && (out.Status != Completed || out.Output != want) || !strings.Contains(out.Text(), want) {
				t.Errorf("%s: %s: got %s %q, want %q", schema, input, out.Status, out.Text(), want)
			}
			if out.Extension != "files" {
				t.Errorf("extension is %q", out.Extension)
			}
		}
	}
}

func TestExternalToolsAreDeniedByDefault(t *testing.T) {
	s := setUp(t, "full", nil)
	called := false
	s.equip(nil, NewExternal(External{Name: "files_read", Extension: "files", Call: func(context.Context, ExternalCall) (ExternalResult, error) {
		called = true
		return ExternalResult{}, nil
	}}))
	if out := s.raw("files_read", "{}"); out.Status != Denied || called || out.Extension != "files" {
		t.Errorf("got %+v", out)
	}
}

func TestExternalResults(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	shown := []Attachment{{MIME: "text/html", Data: picture.Bytes()}, {MIME: "image/svg+xml", Data: []byte("<svg/>")}, {MIME: "image/png", Data: make([]byte, 9)}}
	tests := []struct {
		name   string
		result ExternalResult
		err    error
		images bool
		status Status
		want   string
	}{
		{"text", ExternalResult{Text: "héllo"}, nil, true, Completed, "héllo"},
		{"nothing", ExternalResult{}, nil, true, Completed, "(no output)"},
		{"progress and styles", ExternalResult{Text: "1%\r100%\n\x1b[32mok\x1b[0m\r\n"}, nil, true, Completed, "100%\nok"},
		{"a failure with styles", ExternalResult{Text: "\x1b[31mfile\x1b[0m not found", Failed: true}, nil, true, Failed, "Error: file not found"},
		{"images", ExternalResult{Text: "see", Images: shown}, nil, true, Completed, "see\n(image 1, image/png, 75 bytes, is attached)\n(image 2, image/svg+xml, 6 bytes: not a PNG, JPEG, GIF or WebP image)\n(image 3, image/png, 9 bytes: not a PNG, JPEG, GIF or WebP image)"},
		{"a model without images", ExternalResult{Images: shown[:1]}, nil, false, Completed, "(image 1, text/html, 75 bytes: this model does not support images)"},
		{"a failure", ExternalResult{Text: "file not found", Failed: true}, nil, true, Failed, "Error: file not found"},
		{"a failure without text", ExternalResult{Failed: true}, nil, true, Failed, "Error: tool files_read failed without an error message"},
		{"a long failure", ExternalResult{Text: strings.Repeat("y", 5000), Failed: true}, nil, true, Failed, "Error: tool files_read failed\n\n" + strings.Repeat("y", 5000)},
		{"an error", ExternalResult{}, errors.New("it exited"), true, Failed, "Error: it exited"},
	}
	for _, tt := range tests {
		s := setUp(t, "readonly", nil)
		s.withExternal("", func(string) (ExternalResult, error) { return tt.result, tt.err })
		s.env.Accepts.Images = tt.images
		out := s.raw("files_read", "{}")
		if got := out.Text(); out.Status != tt.status || got != tt.want {
			t.Errorf("%s: got %s %q, want %q", tt.name, out.Status, got, tt.want)
		}
	}
	s := setUp(t, "readonly", nil)
	s.withExternal("", func(string) (ExternalResult, error) { return ExternalResult{Text: strings.Repeat("line\n", 5000)}, nil })
	if out := s.raw("files_read", "{}"); !out.Truncated || len(out.Output) > 60<<10 {
		t.Errorf("an output of %d bytes is not truncated", len(out.Output))
	}
	if spec := NewExternal(External{Name: "a", Description: strings.Repeat("é", 4096)}).Spec(); len(spec.Description) > 2<<10 || spec.ReadOnly || !spec.Parallel {
		t.Errorf("got %+v", spec)
	}
}
