package house

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// released is the heading of a version in CHANGELOG.md.
	released = regexp.MustCompile(`(?m)^## v?(\d+\.\d+\.\d+\S*)`)
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

// Documents and examples name the newest version of CHANGELOG.md, and none before the
// first: a version without a release can't be installed.
func TestDocumentsNameTheNewestRelease(t *testing.T) {
	newest := ""
	if m := released.FindStringSubmatch(read(t, "CHANGELOG.md")); m != nil {
		newest = m[1]
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
		if newest != "" && strings.Contains(string(text), "released yet") {
			t.Errorf("%s denies a release, and CHANGELOG.md has %s", name, newest)
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
	if version := strings.TrimSpace(read(t, ".github/action/version")); version != "" && version != newest {
		t.Errorf("the action would download version %s, and the newest release is %q", version, newest)
	}
	if seen < 5 {
		t.Errorf("only %d names of versions were found", seen)
	}
	if clone := strings.Contains(read(t, "README.md"), "git clone https://github.com/millhand/millhand"); !clone && newest == "" {
		t.Error("README does not describe how to install from source")
	}
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
