package workflows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

// releaser is .goreleaser.yaml, as far as others rely on it.
type releaser struct {
	ProjectName string `yaml:"project_name"`
	Builds      []struct {
		Main, Binary                      string
		Goos, Goarch, Env, Flags, Ldflags []string
		ModTimestamp                      string `yaml:"mod_timestamp"`
	}
	Archives []struct {
		NameTemplate string `yaml:"name_template"`
		Formats      []string
	}
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
	}
}

func readReleaser(t *testing.T) releaser {
	t.Helper()
	var r releaser
	if err := yaml.Unmarshal([]byte(read(t, scripts.Root(t)+"/.goreleaser.yaml")), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Builds) != 1 || len(r.Archives) != 1 {
		t.Fatalf("%d builds, %d archives", len(r.Builds), len(r.Archives))
	}
	return r
}

// install.sh downloads archiveName and checksums.txt.
func TestReleaseHasWhatTheActionDownloads(t *testing.T) {
	r := readReleaser(t)
	name := strings.NewReplacer("{{ .ProjectName }}", r.ProjectName, "{{ .Version }}", releasedVersion, "{{ .Os }}", runtime.GOOS, "{{ .Arch }}", runtime.GOARCH).
		Replace(r.Archives[0].NameTemplate) + "." + r.Archives[0].Formats[0]
	if name != archiveName() || r.Builds[0].Binary != "millhand" || r.Checksum.NameTemplate != "checksums.txt" {
		t.Errorf("the release has %s and %s with %s, the action downloads %s", name, r.Checksum.NameTemplate, r.Builds[0].Binary, archiveName())
	}
	for _, system := range []string{"linux", "darwin", "windows"} {
		if !slices.Contains(r.Builds[0].Goos, system) {
			t.Errorf("no release for %s", system)
		}
	}
	for _, machine := range []string{"amd64", "arm64"} {
		if !slices.Contains(r.Builds[0].Goarch, machine) {
			t.Errorf("no release for %s", machine)
		}
	}
}

// TestReleaseIsReproducible builds a tagged commit in two directories, as goreleaser does. It does so at night: without cgo
// each package that a change concerns is compiled once more, and the program is linked twice.
func TestReleaseIsReproducible(t *testing.T) {
	if !nightly.On() {
		t.Skip("long: make nightly-trust runs it")
	}
	root := scripts.Root(t)
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skipf("the tree is not a git repository: %v", err)
	}
	r := readReleaser(t).Builds[0]
	var programs [2]string
	for i := range programs {
		dir := filepath.Join(t.TempDir(), fmt.Sprintf("checkout-%d", i))
		programs[i] = filepath.Join(t.TempDir(), "millhand")
		in(t, root, nil, "git", "clone", "-q", "--no-hardlinks", root, dir)
		in(t, dir, nil, "git", "tag", "v"+releasedVersion)
		args := append([]string{"build", "-o", programs[i], "-ldflags", strings.Join(r.Ldflags, " ")}, r.Flags...)
		in(t, dir, append([]string{"GOOS=linux", "GOARCH=amd64", "GOFLAGS=", "GOWORK=off"}, r.Env...), "go", append(args, r.Main)...)
	}
	if one, other := read(t, programs[0]), read(t, programs[1]); one != other {
		t.Errorf("two builds of one commit differ: %d and %d bytes", len(one), len(other))
	}
	var stamp struct {
		Version, Revision, Date string
		Modified                bool
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return
	}
	if err := json.Unmarshal(in(t, root, nil, programs[0], "version", "--json"), &stamp); err != nil {
		t.Fatal(err)
	}
	head := strings.TrimSpace(string(in(t, root, nil, "git", "rev-parse", "HEAD")))
	if stamp.Version != "v"+releasedVersion || stamp.Revision != head || stamp.Date == "" || stamp.Modified {
		t.Errorf("version --json printed %+v, want v%s of %s", stamp, releasedVersion, head)
	}
}

// in runs a program in a directory and returns its standard output.
func in(t *testing.T, dir string, env []string, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Log(string(exit.Stderr))
		}
		t.Fatalf("%s %q: %v", name, args, err)
	}
	return out
}

func TestReleaseNotesAreThoseOfTheChangelog(t *testing.T) {
	notes := in(t, scripts.Root(t), nil, ".ci/release-notes", "0.1.0")
	if !bytes.Contains(notes, []byte("### Runs")) || bytes.Contains(notes, []byte("\n## ")) {
		t.Errorf("notes:\n%s", notes)
	}
	if out, err := exec.CommandContext(t.Context(), scripts.Root(t)+"/.ci/release-notes", "v0.0.99").CombinedOutput(); err == nil || !bytes.Contains(out, []byte("no section for 0.0.99")) {
		t.Errorf("a version without notes: %v, %s", err, out)
	}
}

// TestSnapshotRunsTheQuickstart installs a snapshot of the release that .ci/release has
// built in $MILLHAND_DIST as the action installs a release, and runs the quickstart.
func TestSnapshotRunsTheQuickstart(t *testing.T) {
	dist := os.Getenv("MILLHAND_DIST")
	if dist == "" {
		t.Skip("MILLHAND_DIST not set; make nightly-release sets it")
	}
	suffix := "_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	found, err := filepath.Glob(filepath.Join(dist, "millhand_*"+suffix))
	if err != nil || len(found) != 1 {
		t.Fatalf("archives of this platform in %s: %q, %v", dist, found, err)
	}
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "millhand_"), suffix)
	w := newWorkflow(t, nil)
	if err := os.CopyFS(filepath.Join(w.workspace, "quickstart"), os.DirFS(scripts.Root(t)+"/examples/quickstart")); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.StripPrefix("/millhand/millhand/releases/download/v"+version+"/", http.FileServer(http.Dir(dist))))
	t.Cleanup(server.Close)
	w.env["GITHUB_SERVER_URL"] = server.URL
	w.with["version"], w.with["manifest"], w.with["sandbox"] = version, "quickstart/millhand.yaml", ""
	r := w.run(t)
	if r.code != 0 || r.outputs["branches"] != `["millhand/fix-invoice"]` {
		t.Errorf("exit code %d, outputs %q\n%s", r.code, r.outputs, r.log)
	}
}
