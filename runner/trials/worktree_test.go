package trials

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/sitetest"
	"github.com/millhand/millhand/runner/ablation"
)

// Trials run on the base with files of the change. Setup runs once for them, and again for files that name
// dependencies; nothing that a trial leaves is in the next one.
func TestTrialsRunOnFilesOfTheChange(t *testing.T) {
	s := sitetest.New(t, map[string]string{"a": "one\n", "gone/x": "x\n", "file/in": "x\n", "package.json": "{}\n"})
	log := filepath.Join(t.TempDir(), "setups")
	spec := accounted(s,
		"test ! -e left && test ! -e $TMPDIR/left && test -e $TMPDIR/of-setup || exit 9; echo >left; echo >$TMPDIR/left; grep two a",
		"test -x run && test \"$(readlink l)\" = a && test ! -e gone && test -f file && test -e installed; seq 5000 | grep -v x; test -x run",
		"grep -q new installed && test \"$GOFLAGS\" = \" -count=1\"",
	)
	spec.Setup = []string{"echo >>" + log + "; ! grep broken package.json", "cp package.json installed; echo >$TMPDIR/of-setup"}
	j, p := s.Open(spec)
	trial, err := open(t.Context(), p, spec.Setup, 3)
	if err != nil {
		t.Fatal(err)
	}
	if at, err := trial.base("a"); err != nil || at.Mode != ablation.Regular || string(at.Data) != "one\n" {
		t.Errorf("in the base: %+v, %v", at, err)
	}
	change := ablation.Tree{
		entry("a", ablation.Regular, "two\n"), entry("run", ablation.Executable, "x\n"), entry("l", ablation.Symlink, "a"), entry("file", ablation.Regular, "now a file\n"),
		entry("file/in", ablation.Absent, ""), entry("gone/x", ablation.Absent, ""), entry("package.json", ablation.Regular, "{new}\n"),
	}
	broken := ablation.Tree{entry("package.json", ablation.Regular, "broken\n")}
	for _, c := range []struct {
		name   string
		tree   ablation.Tree
		all    bool
		failed []string
		setups int
	}{
		{"nothing, until one fails", nil, false, []string{"v1"}, 1},
		{"nothing", nil, true, []string{"v1", "v2", "v3"}, 1},
		{"all", change, true, nil, 2},
		{"without the dependency", change[:6], true, []string{"v3"}, 3},
		{"with a dependency that can't be installed", broken, true, spec.Setup[:1], 4},
		{"the same again", broken, true, spec.Setup[:1], 4},
		{"all again", change, true, nil, 5},
	} {
		failed, err := trial.try(t.Context(), c.tree, spec.Verify, c.all)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		want(t, c.name, c.failed, failed)
		want(t, c.name+": setups", c.setups, lines(log))
	}
	if exists(filepath.Join(p.Tree.Root(), "installed")) || exists(filepath.Join(s.Options.Work, "tmp", "a", "of-setup")) {
		t.Error("a trial reaches the workspace of the job")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if failed, err := trial.try(ended, change, spec.Verify, true); !errors.Is(err, context.Canceled) || failed != nil {
		t.Errorf("a trial that was ended: %v, %v", failed, err)
	}
	if outputs, err := os.ReadDir(j.Outputs().Path()); err != nil || len(outputs) > 0 {
		t.Errorf("outputs left: %v, %v", outputs, err)
	}
	if err := trial.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(s.Options.Work, "trials", "a")); err != nil || len(left) > 0 || len(openFiles(s, "trials")) > 0 {
		t.Errorf("left %v, %v; open %q", left, err, openFiles(s, "trials"))
	}
}

// A workspace that the change adds is not in the base, and what an earlier attempt left is removed.
func TestATrialTreeOfADirectoryOfARepository(t *testing.T) {
	s := sitetest.New(t, map[string]string{"web/b": "b\n"})
	spec := accounted(s, "test \"$(basename $PWD)\" = added && test -e new")
	spec.Repo.Dir = filepath.Join(s.Repo.Root, "web")
	_, p := s.Open(spec)
	p.Below = "added"
	writeFile(t, filepath.Join(s.Options.Work, "trials", "a", "1", "tree", "earlier"), "x\n")
	trial, err := open(t.Context(), p, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := trial.Close(); err != nil {
			t.Error(err)
		}
	}()
	if exists(filepath.Join(s.Options.Work, "trials", "a", "1", "tree", "earlier")) {
		t.Error("a file of an earlier attempt is left")
	}
	failed, err := trial.try(t.Context(), ablation.Tree{entry("added/new", ablation.Regular, "x\n")}, spec.Verify, true)
	if err != nil || len(failed) > 0 {
		t.Errorf("failed %v, %v", failed, err)
	}
}

// A trial that can't be prepared leaves nothing.
func TestATrialTreeThatCantBeOpened(t *testing.T) {
	s := sitetest.New(t, nil)
	spec := accounted(s)
	spec.Setup = []string{"true"}
	_, p := s.Open(spec)
	if err := os.RemoveAll(filepath.Join(s.Repo.Root, ".git", "objects")); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t.Context(), p, spec.Setup, 1); err == nil {
		t.Error("it was opened without the objects of the repository")
	}
	if exists(filepath.Join(s.Options.Work, "trials", "a", "1")) {
		t.Error("it is left")
	}
}

// lines counts the lines of a file.
func lines(name string) int {
	data, _ := os.ReadFile(name)
	return strings.Count(string(data), "\n")
}
