package faults

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/dev/nightly"
)

// onSmallDisk runs a command with one of the world's directories on a disk with so
// many KiB of free space, and copies it back afterwards.
const onSmallDisk = `set -e
dir=$1 free=$2; shift 2
mkdir -p "$dir" copy
cp -a "$dir/." copy
used=$(du -sk --apparent-size copy | cut -f1); blocks=$(du -sk copy | cut -f1)
[ "$used" -gt "$blocks" ] || used=$blocks
mount -t tmpfs -o "size=$((used + free))k" none "$dir"
cp -a copy/. "$dir"
cd shop
code=0; "$@" || code=$?
cd ..
rm -f "$dir/ballast"
rm -rf copy; cp -a "$dir" copy
umount "$dir"; rm -rf "$dir"; mv copy "$dir"
exit $code
`

// TestFullDisks lets the disk of the reports, of the repository, of the remote or of
// temporary files become full on the way. What was reported as done is there, both
// repositories pass fsck, and work that could not land is saved.
func TestFullDisks(t *testing.T) {
	if exec.CommandContext(t.Context(), "unshare", "-m", "true").Run() != nil {
		t.Skip("this user can mount no small disk")
	}
	template := template(t)
	random, ended := nightly.Random(t), counts{}
	for range nightly.Count(2, 80, 400) {
		dir, free := []string{"r", "shop/.git", "origin.git", "tmp"}[random.IntN(4)], 4+random.IntN(500)
		if dir == "r" {
			free += 230 // a run requires 256 KiB for the reports of six jobs
		}
		t.Run(fmt.Sprintf("%s %d KiB", filepath.Base(dir), free), func(t *testing.T) {
			w := newWorld(t, template, nil)
			out, code := w.runOnSmallDisk(t.Context(), dir, free)
			w.checkProcesses()
			w.checkRepositories()
			found, _ := filepath.Glob(filepath.Join(w.dir, "r/report.json"))
			if found == nil && code != 2 {
				t.Errorf("report.json is missing, and the exit code is %d:\n%s", code, out)
			}
			if found != nil {
				if r := w.checkReport("r", false); r.Run.ExitCode != code {
					t.Errorf("exit code %d, reported is %d", code, r.Run.ExitCode)
				}
			}
			if code != 0 && !strings.Contains(out, "space") {
				t.Errorf("exit code %d, and the disk is not mentioned:\n%s", code, out)
			}
			ended[fmt.Sprintf("%s: exit code %d", dir, code)]++
		})
	}
	ended.log(t)
}

func (w *world) runOnSmallDisk(ctx context.Context, dir string, free int) (string, int) {
	w.t.Helper()
	run := w.run(ctx, "r")
	cmd := exec.CommandContext(ctx, "unshare", append([]string{"-m", "sh", "-c", onSmallDisk, "sh", dir, fmt.Sprint(free)}, run.Args...)...)
	cmd.Dir, cmd.Env = w.dir, run.Env
	out, err := cmd.CombinedOutput()
	return string(out), exitCode(w.t, err)
}
