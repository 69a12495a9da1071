package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/dev/nightly"
)

// userScripts are run again as an ordinary user: what they hold must not depend on being root.
const userScripts = "^TestScripts$/^(sandbox|doctor|strays|sandbox_words|tool|processes_limit|" +
	"verify_clean|output_own|disk_limit|signals|report_place|temporary_files|monorepo)$"

func TestScriptsAgainAsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 || !nightly.On() {
		t.Skip("only root can run as another user, and these scripts are long: make nightly-trust runs them")
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skipf("setpriv is required to run as another user: %v", err)
	}
	dir, err := os.MkdirTemp("", "u") //nolint:usetesting // a test's own directory is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "millhand.test")
	if err := os.WriteFile(program, self, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "testdata", "script"), os.DirFS(filepath.Join("testdata", "script"))); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, filepath.Join(dir, "tmp")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(d, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	closed := filepath.Join(dir, "closed", "bin") // of somebody else's, as root's own on many a PATH
	if err := os.MkdirAll(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(closed), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", program, "-test.run="+userScripts, "-test.timeout=10m", "-test.v")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + closed + ":/etc/hostname/bin:/usr/local/bin:/usr/bin:/bin", "TMPDIR=" + filepath.Join(dir, "tmp"), "HOME=" + dir}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if ran := strings.Count(string(out), "--- PASS: TestScripts/"); ran < 13 {
		t.Errorf("%d scripts ran\n%s", ran, out)
	}
}
