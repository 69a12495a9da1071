package expand

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/tasks"
)

func TestInstructionsAreFilesAndPatterns(t *testing.T) {
	files := map[string]string{
		"docs/b.md": "B", "docs/a.md": "A", "docs/deep/c.md": "C", "docs/x.txt": "X", "@odd.md": "odd", "plain.md": "plain", "[x].md": "brackets",
	}
	p, err := loadText(t, `instructions: [plain.md, "docs/**/*.md", "@docs/a.md", "@docs/x.txt", "@odd.md", "[x].md"]`+"\n"+oneTask, files, tasks.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	want := []tasks.Instruction{{Path: "plain.md", Text: "plain"}, {Path: "docs/a.md", Text: "A"}, {Path: "docs/b.md", Text: "B"}, {Path: "docs/deep/c.md", Text: "C"}, {Path: "docs/x.txt", Text: "X"}, {Path: "@odd.md", Text: "odd"}, {Path: "[x].md", Text: "brackets"}}
	if diff := cmp.Diff(want, p.Jobs[0].Instructions); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	_, err = loadText(t, `instructions: ["docs/*.rst", "docs/[.md", gone.md, "@gone.md"]`+"\n"+oneTask, files, tasks.Overrides{})
	if diff := cmp.Diff([]string{
		`m.yaml:1:30: invalid glob "docs/[.md"; close its brackets`,
		`m.yaml:1:43: "gone.md": not found; check its path; it is relative to the manifest`,
		`m.yaml:1:52: "gone.md": not found; check its path; it is relative to the manifest`,
	}, lines(t, err)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	p, err = loadText(t, `instructions: ["docs/*.rst", plain.md]`+"\n"+oneTask, files, tasks.Overrides{})
	if err != nil || len(p.Jobs[0].Instructions) != 1 {
		t.Fatal(err, p)
	}
	if diff := cmp.Diff([]string{`m.yaml:1: no file matches "docs/*.rst", which is relative to the manifest`}, p.Notes); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
