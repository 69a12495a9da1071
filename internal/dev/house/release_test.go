package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// released is the heading of a version in CHANGELOG.md.
	released = regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+\S*) \((\d{4}-\d\d-\d\d|not released yet)\)$`)
	// installed is a version of millhand that a document asks its readers to use: of the
	// module or action, of the image, of a download, of the action's input.
	installed = regexp.MustCompile(`(?:millhand/millhand@|ghcr\.io/millhand/millhand:|releases/download/|\bversion: )([\w.<>-]+)( # v[\d.]+)?`)
	commit    = regexp.MustCompile(`^([0-9a-f]{40}|<commit>)$`)
)

// installable returns whether a document may name a version, given as in installed, if
// the newest release is another one; "" for none.
func installable(version, comment, newest string) bool {
	switch {
	case newest == "":
		return version == "main" || commit.MatchString(version) && comment == ""
	case commit.MatchString(version):
		return comment == " # v"+newest
	default:
		return slices.Contains([]string{"latest", newest, "v" + newest}, version)
	}
}

// Documents and examples name the newest version of CHANGELOG.md. The source has that version if it
// is its release, and otherwise the next one with -dev; only the documents of the first note that it is
// not released yet.
func TestDocumentsNameTheNewestRelease(t *testing.T) {
	m := released.FindStringSubmatch(read(t, "CHANGELOG.md"))
	if m == nil {
		t.Fatal("CHANGELOG.md has no version")
	}
	newest, pending := m[1], m[2] == "not released yet"
	source := strings.TrimSpace(read(t, "internal/command/version.txt"))
	next, dev := strings.CutSuffix(source, "-dev")
	if dev && pending != (next == newest) || !dev && (pending || source != newest) {
		t.Errorf("the source has version %s, and CHANGELOG.md %q", source, m[0])
	}
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "README.md", "SECURITY.md", "action.yml", "docs", "examples").Output()
	if err != nil {
		t.Skipf("the tree is not a git repository: %v", err)
	}
	seen := 0
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSuffix(name, "\n")
		text, err := os.ReadFile(name)
		if err != nil {
			continue // removed and not committed yet
		}
		if said := strings.Contains(string(text), "released yet"); said && !pending || !said && pending && name == "README.md" {
			t.Errorf("%s: \"released yet\": %v; CHANGELOG.md: %v", name, said, pending)
		}
		for _, m := range installed.FindAllStringSubmatch(string(text), -1) {
			if strings.HasPrefix(m[0], "version: ") && !strings.Contains(m[1], ".") {
				continue // the format of a manifest
			}
			seen++
			if !installable(m[1], m[2], newest) {
				t.Errorf("%s names %q, and the newest release is %q", name, m[0], newest)
			}
		}
	}
	if seen < 5 {
		t.Errorf("only %d names of versions were found", seen)
	}
}

// TestReleaseIsCut makes releases of a copy of the tree: the first has the pending section, the next
// one the entries of docs/changes.
func TestReleaseIsCut(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".ci/changes", ".ci/release-notes", "docs/changes/README.md", "internal/command/version.txt", "README.md", "SECURITY.md", "action.yml"} {
		write(t, dir, name, read(t, name))
	}
	write(t, dir, "CHANGELOG.md", "# Changelog\n\n## 0.1.0 (not released yet)\n\nFirst.\n\n### Runs\n\n- They run.\n")
	write(t, dir, "examples/README.md", "uses: millhand/millhand@v0.1.0\n  with: {version: 0.1.0}\nx 0.1.0\n")
	write(t, dir, "docs/changes/b.md", "Runs: A \\n `flag`,\nwith & more.\n")
	write(t, dir, "docs/changes/a.md", "Security: Fixed.\n")
	cut := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, ".ci/changes"), args...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	entries := "### Security\n\n- Fixed.\n\n### Runs\n\n- A \\n `flag`,\n  with & more.\n\n"
	if out, err := cut(); err != nil || out != entries {
		t.Errorf("%v, %s", err, out)
	}
	if out, err := cut("0.1.0", "2026-11-28"); err != nil {
		t.Fatal(err, out)
	}
	first := "## 0.1.0 (2026-11-28)\n\nFirst.\n\n### Runs\n\n- They run.\n- A \\n `flag`,\n  with & more.\n\n### Security\n\n- Fixed.\n"
	if got := readIn(t, dir, "CHANGELOG.md"); got != "# Changelog\n\n"+first {
		t.Errorf("CHANGELOG.md:\n%s", got)
	}
	write(t, dir, "docs/changes/c.md", "Reports: Newer.\n")
	if out, err := cut("0.2.0", "2026-12-01"); err != nil {
		t.Fatal(err, out)
	}
	if got := readIn(t, dir, "CHANGELOG.md"); got != "# Changelog\n\n## 0.2.0 (2026-12-01)\n\n### Reports\n\n- Newer.\n\n"+first {
		t.Errorf("CHANGELOG.md:\n%s", got)
	}
	if got := readIn(t, dir, "examples/README.md") + readIn(t, dir, "internal/command/version.txt"); got != "uses: millhand/millhand@v0.2.0\n  with: {version: 0.2.0}\nx 0.1.0\n0.2.0\n" {
		t.Errorf("versions:\n%s", got)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "docs/changes")); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
	notes, err := exec.CommandContext(t.Context(), filepath.Join(dir, ".ci/release-notes"), "v0.2.0").Output()
	if err != nil || string(notes) != "\n### Reports\n\n- Newer.\n\n" {
		t.Errorf("%v, notes %q", err, notes)
	}
	for _, wrong := range []string{"Things: x.\n", "No section.\n", "Runs: a.\n\nb.\n", "Runs: a.\n2\n3\n4\n5\n6\n7\n"} {
		write(t, dir, "docs/changes/wrong.md", wrong)
		if out, err := cut(); err == nil || !strings.Contains(out, "docs/changes/wrong.md") {
			t.Errorf("%q: %v, %s", wrong, err, out)
		}
	}
}

// The entries of the next version can be assembled.
func TestChangesAreEntries(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), ".ci/changes").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if strings.Contains(read(t, "CHANGELOG.md"), "Unreleased") {
		t.Error("CHANGELOG.md has an unreleased section: write docs/changes/NAME.md")
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil { //nolint:gosec // scripts among them
		t.Fatal(err)
	}
}

func readIn(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestInstallableVersions(t *testing.T) {
	hash := strings.Repeat("a", 40)
	for _, test := range []struct {
		version, comment, newest string
		want                     bool
	}{
		{"latest", "", "", false},
		{"v0.2.0", "", "", false},
		{"main", "", "", true},
		{hash, "", "", true},
		{hash, " # v0.2.0", "", false},
		{"main", "", "0.3.0", false},
		{"latest", "", "0.3.0", true},
		{"0.3.0", "", "0.3.0", true},
		{"v0.3.0", "", "0.3.0", true},
		{"v0.2.0", "", "0.3.0", false},
		{hash, " # v0.3.0", "0.3.0", true},
		{hash, " # v0.2.0", "0.3.0", false},
	} {
		if got := installable(test.version, test.comment, test.newest); got != test.want {
			t.Errorf("%+v: got %v", test, got)
		}
	}
}
