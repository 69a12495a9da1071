package workflows

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

// debianNames are the names by which debootstrap knows versions of Debian.
var debianNames = map[string]string{"debian:12-slim": "bookworm", "debian:13-slim": "trixie"}

// image is the file system that a Dockerfile makes, and how its program is started.
type image struct {
	root, user, dir string
	env, entrypoint []string
	args            map[string]string // of the build
}

// run runs a program in the image as a user, with its processes and mounts apart from those of this machine.
func (i *image) run(t *testing.T, user string, env []string, args ...string) (string, error) {
	t.Helper()
	const inside = `mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && root=$1 user=$2 dir=$3 && shift 3 &&
exec chroot --userspec="$user" "$root" /usr/bin/env -i -C "$dir" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"`
	cmd := exec.CommandContext(t.Context(), "unshare", append([]string{"--mount", "--pid", "--fork", "sh", "-c", inside, "sh", i.root, user, i.dir}, append(env, args...)...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// build carries out an instruction of a Dockerfile, with files of a directory.
func (i *image) build(t *testing.T, dist, name, text string) {
	t.Helper()
	must := func(out string, err error) {
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, text, err, out)
		}
	}
	expanded := os.Expand(text, func(name string) string { return i.args[name] })
	fields := strings.Fields(expanded)
	switch name {
	case "FROM":
		suite := debianNames[text]
		if suite == "" {
			t.Fatalf("FROM %s: unknown image", text)
		}
		if out, err := exec.CommandContext(t.Context(), "debootstrap", "--variant=minbase", suite, i.root).CombinedOutput(); err != nil {
			t.Skipf("debootstrap: %v\n%s", err, out)
		}
	case "RUN":
		env := []string{"DEBIAN_FRONTEND=noninteractive"}
		for _, name := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} {
			if value := os.Getenv(name); value != "" {
				env = append(env, name+"="+value)
			}
		}
		must(i.run(t, "0:0", env, "/bin/sh", "-c", text))
	case "ARG":
		if i.args[text] == "" {
			t.Fatalf("no value for ARG %s", text)
		}
	case "ADD":
		must("", os.MkdirAll(filepath.Join(i.root, fields[1]), 0o755))
		out, err := exec.CommandContext(t.Context(), "tar", "-xzf", filepath.Join(dist, fields[0]), "-C", filepath.Join(i.root, fields[1])).CombinedOutput()
		must(string(out), err)
	case "ENV":
		i.env = append(i.env, expanded)
	case "USER":
		i.user = expanded
	case "WORKDIR":
		i.dir = expanded
		must("", os.MkdirAll(filepath.Join(i.root, i.dir), 0o755))
	case "ENTRYPOINT":
		must("", json.Unmarshal([]byte(text), &i.entrypoint))
	default:
		t.Fatalf("unknown instruction %s", name)
	}
}

// TestSnapshotRunsInTheImage makes the file system of the image, as its Dockerfile describes it, from Debian's packages
// and the snapshot that .ci/release has built in $MILLHAND_DIST, and runs the quickstart in there as the image's user.
func TestSnapshotRunsInTheImage(t *testing.T) {
	dist := os.Getenv("MILLHAND_DIST")
	if _, err := exec.LookPath("debootstrap"); dist == "" || os.Geteuid() != 0 || err != nil {
		t.Skip("MILLHAND_DIST not set, not root, or no debootstrap; make nightly-release sets it")
	}
	suffix := "_linux_" + runtime.GOARCH + ".tar.gz"
	found, err := filepath.Glob(filepath.Join(dist, "millhand_*"+suffix))
	if err != nil || len(found) != 1 {
		t.Fatalf("archives of this machine in %s: %q, %v", dist, found, err)
	}
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "millhand_"), suffix)
	i := &image{root: filepath.Join(t.TempDir(), "root"), dir: "/", args: map[string]string{"VERSION": version, "TARGETARCH": runtime.GOARCH}}
	text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(read(t, scripts.Root(t)+"/Dockerfile"), "")
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if name, rest, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			i.build(t, dist, name, strings.TrimSpace(rest))
		}
	}
	for _, path := range []string{"/usr/local/go", "/usr/bin/go"} {
		if _, err := os.Stat(filepath.Join(i.root, path)); err == nil {
			t.Errorf("the image has %s", path)
		}
	}
	if i.user == "" || strings.HasPrefix(i.user, "0") || i.user == "root" {
		t.Errorf("the program runs as %q", i.user)
	}
	// The user's directory, which docker run -v mounts.
	if out, err := exec.CommandContext(t.Context(), "chown", i.user, filepath.Join(i.root, i.dir)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, step := range []struct{ args, want string }{
		{"version", "millhand "},
		{"doctor", "git"},
		{"init --demo demo", "demo"},
		{"run demo/millhand.yaml --sandbox external", "run passed in"},
	} {
		out, err := i.run(t, i.user, i.env, append(i.entrypoint, strings.Fields(step.args)...)...)
		if err != nil && step.args != "doctor" || !strings.Contains(out, step.want) { // doctor's code is 3 where no sandbox can be
			t.Errorf("%s: %v\n%s", step.args, err, out)
		}
	}
}
