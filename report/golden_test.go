package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/junit"
	"github.com/millhand/millhand/report/reportschema"
	"github.com/millhand/millhand/report/summary"
)

var update = flag.Bool("update", false, "regenerate the golden files")

// writers are the formats, by the ending of their golden file.
func writers() map[string]func(io.Writer, *report.Report) error {
	return map[string]func(io.Writer, *report.Report) error{
		".json": report.JSON, ".xml": junit.Write, ".md": summary.Markdown, ".txt": summary.Text, ".failed": summary.Failed, ".show": everyJob,
	}
}

// everyJob writes the text of each job, with a patch whose lines are hostile.
func everyJob(w io.Writer, r *report.Report) error {
	for i := range r.Jobs {
		patch := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\x1b[31mred\n+::error::x\n"
		if err := summary.JobText(w, &r.Jobs[i], patch, func(_ printable.Style, text string) string { return text }); err != nil {
			return err
		}
	}
	return nil
}

func compileSchema(tb testing.TB) *jsonschema.Schema {
	tb.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(reportschema.Schema()))
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("report.json", doc); err != nil {
		tb.Fatal(err)
	}
	compiled, err := c.Compile("report.json")
	if err != nil {
		tb.Fatal(err)
	}
	return compiled
}

func validJSON(tb testing.TB, schema *jsonschema.Schema, text string) {
	tb.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		tb.Fatalf("report.json is no JSON: %v", err)
	}
	if err := schema.Validate(doc); err != nil {
		tb.Fatalf("report.json does not fit its schema: %v", err)
	}
}

func wellFormed(tb testing.TB, text string) {
	tb.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			tb.Fatalf("junit.xml is not well-formed: %v", err)
		}
	}
}

func TestGoldenReports(t *testing.T) {
	schema := compileSchema(t)
	for name, stream := range reporttest.Streams(t, "testdata") {
		t.Run(name, func(t *testing.T) {
			for ending, write := range writers() {
				got := reporttest.Render(t, write, reporttest.Load(t, stream))
				golden(t, filepath.Join("testdata", name+ending), got)
				switch ending {
				case ".json":
					validJSON(t, schema, got)
				case ".xml":
					wellFormed(t, got)
				}
			}
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestEveryStateOfARunCanBeReported(t *testing.T) {
	schema := compileSchema(t)
	for name, stream := range reporttest.Streams(t, "testdata") {
		t.Run(name, func(t *testing.T) {
			var f report.Fold
			check := func() {
				validJSON(t, schema, reporttest.Render(t, report.JSON, f.Report()))
				wellFormed(t, reporttest.Render(t, junit.Write, f.Report()))
				reporttest.Render(t, summary.Markdown, f.Report())
				reporttest.Render(t, summary.Text, f.Report())
			}
			check()
			complete := stream[:bytes.LastIndexByte(stream, '\n')+1] // a torn end has a warning of its own
			_, err := event.Read(bytes.NewReader(complete), func(e event.Event) error {
				if !testing.Short() || e.Seq%4 == 0 {
					defer check()
				}
				return f.Emit(e)
			})
			if err != nil {
				t.Fatal(err)
			}
			for ending, write := range writers() {
				if diff := cmp.Diff(reporttest.Render(t, write, reporttest.Load(t, complete)), reporttest.Render(t, write, f.Report())); diff != "" {
					t.Errorf("asking for states changed the last one, %s (-want +got):\n%s", ending, diff)
				}
			}
		})
	}
}

func TestEveryFormatReturnsErrorsOfItsWriter(t *testing.T) {
	full := errors.New("disk full")
	r := reporttest.Load(t, reporttest.Streams(t, "testdata")["passed"])
	for ending, write := range writers() {
		if err := write(failing{full}, r); !errors.Is(err, full) {
			t.Errorf("%s: error is %v, want %v", ending, err, full)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestSummaryHasFindings(t *testing.T) {
	golden(t, "testdata/findings.summary", reporttest.Render(t, summary.Markdown, reporttest.Reviewed(t, reporttest.Findings())))
}
