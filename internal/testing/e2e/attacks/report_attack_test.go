package attacks

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/testing/corpus"
)

// reportAttack is a command of an agent, at work in place, against the reports
// in the workspace. It has worked if its effect, for bash in the workspace
// afterwards, succeeds. Both find $RUN, the report directory, $OWN, the
// .millhand that it is in, $SHARED, the directory of temporary files, $SHOP, the
// repository, and $VICTIM, a directory outside.
type reportAttack struct {
	name, line, effect string
	dir                string // that millhand starts in, below the workspace
	gap                bool   // it works at level B
	aside              bool   // in a worktree of the repository
}

const noReport = `! test -f "$RUN/report.json" || ! test -s "$RUN/events.jsonl" || test -n "$(ls -A "$VICTIM")"`

func reportAttacks() []reportAttack {
	return []reportAttack{
		{name: "replace the report directory by a symlink", line: `mv $RUN moved; ln -s $VICTIM $RUN`, effect: noReport},
		{name: "replace a directory above it by a symlink", line: `mv $OWN moved; ln -s $VICTIM $OWN`, effect: noReport},
		{name: "move the directory that holds it", dir: "sub", line: `mv sub moved; mkdir sub; ln -s $VICTIM sub/.millhand`, effect: noReport},
		{name: "replace the kept outputs by a symlink", line: `rm -rf $RUN/outputs; mkdir -p $RUN; ln -s $VICTIM $RUN/outputs`, effect: `test -z "$(find -P "$RUN/outputs" -name '*.txt')" || test -n "$(ls -A "$VICTIM")"`},
		{name: "remove all that millhand keeps, for a symlink", line: `rm -rf $OWN; ln -s $VICTIM $OWN`, effect: noReport},
		{name: "remove the report directory", line: `rm -rf $RUN`, effect: noReport},
		{name: "remove all that millhand keeps", line: `rm -rf $OWN`, effect: noReport},
		{name: "put a directory where a report belongs", line: `mkdir -p $RUN/report.json/x`, effect: noReport},
		{name: "write into the events", line: `echo '{}' >>$RUN/events.jsonl`, effect: `grep -q '^{}' "$RUN/events.jsonl"`},
		{name: "read the events", line: `cat $RUN/events.jsonl >seen`, effect: `grep -q run.started seen`},
		{name: "remove the reports of an earlier run", line: `rm -rf $OWN/runs/earlier`, effect: `! test -e "$OWN/runs/earlier/report.json"`, gap: true},
	}
}

// plantings give names to what millhand is about to create, or creates files where it works, beside a worktree.
func plantings() []reportAttack {
	return []reportAttack{
		{name: "a file among the temporary ones", line: `touch $SHARED/planted`, effect: `test -e "$SHARED/planted"`},
		{name: "symlinks instead of the temporary directories", line: `for d in $SHARED/*; do mv $d $SHARED/moved-${d##*/} && ln -s $VICTIM $d; done`, effect: `test -n "$(ls "$SHARED" | grep moved-)"`},
		{name: "a file beside the worktree", line: `cd ..; mv $PWD $SHARED/saved && touch $SHARED/saved/planted`, effect: `test -e "$SHARED/saved/planted"`},
		{name: "a symlink instead of the worktree", line: `W=$PWD; cd ..; mv $W $SHARED/saved; ln -s $VICTIM $W; touch $W/planted`, effect: `test -e "$VICTIM/planted"`},
		{name: "a symlink instead of the worktree's directory", line: `P=$(cd .. && pwd); mv $P $SHARED/saved; ln -s $VICTIM $P; touch $P/planted`, effect: `test -e "$VICTIM/planted"`},
		{name: "a file in the git directory", line: `touch $SHOP/.git/planted`, effect: `test -e "$SHOP/.git/planted"`},
		{name: "a lock of the job's branch", line: `mkdir -p $SHOP/.git/refs/heads/millhand && touch $SHOP/.git/refs/heads/millhand/try.lock`, effect: `test -e "$SHOP/.git/refs/heads/millhand/try.lock"`},
		{name: "the job's branch", line: `mkdir -p $SHOP/.git/refs/heads/millhand && git -C $SHOP rev-parse HEAD >$SHOP/.git/refs/heads/millhand/planted`, effect: `test -e "$SHOP/.git/refs/heads/millhand/planted"`},
		{name: "a symlink instead of the directory of objects", line: `mv $SHOP/.git/objects $SHOP/.git/moved; ln -s $VICTIM $SHOP/.git/objects`, effect: `test -L "$SHOP/.git/objects"`},
		{name: "a hook", line: `printf '#!/bin/sh\ntouch %s/sprung\n' $VICTIM >$SHOP/.git/hooks/post-commit; chmod +x $SHOP/.git/hooks/post-commit`, effect: `test -e "$SHOP/.git/hooks/post-commit"`},
		{name: "a file in the report directory", line: `touch $RUN/planted`, effect: `test -e "$RUN/planted"`},
		{name: "symlinks by the names of reports", line: `for n in report.json summary.md junit.xml report.html failed.txt; do ln -s $VICTIM/$n $RUN/$n; done; ln -s $VICTIM $RUN/patches`, effect: `! test -s "$RUN/report.json" || test -n "$(ls "$VICTIM")" || test -L "$RUN/patches"`},
		{name: "a directory by the name of a report", line: `mkdir -p $RUN/summary.md/x`, effect: `test -d "$RUN/summary.md"`},
		{name: "a FIFO by the name of the list of failed jobs", line: `mkfifo $RUN/failed.txt && mkfifo $RUN/seen`, effect: `test -p "$RUN/seen"`},
	}
}

func TestAgentsCannotAccessReports(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	tryReportAttacks(t, "rep", reportAttacks())
}

func TestNamesPlantedByAgents(t *testing.T) {
	if !nightly.On() {
		t.Skip("runs at night")
	}
	all := plantings()
	for i := range all {
		all[i].aside = true
	}
	tryReportAttacks(t, "plant", all)
}

// tryReportAttacks tries the attacks of a group without a sandbox, where they work, and at both levels of confinement. For every
// change it does so if the levels differ; it tries the others at one level, alternately, and the first two without a sandbox.
func tryReportAttacks(t *testing.T, group string, attacks []reportAttack) {
	t.Helper()
	var names []string
	for i, a := range attacks {
		name := a.name
		if a.gap {
			name += corpus.Gap
		}
		names = append(names, name)
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			all := nightly.On() || a.gap
			if (all || i < 2) && !a.try(t, "", "--sandbox", "off") {
				t.Fatal("it has no effect where nothing is confined")
			}
			best := sandbox.Probe(t.Context(), t.TempDir()).Best
			if (all || i%2 == 0) && best == sandbox.Full && a.try(t, "") {
				t.Error("it works at level A")
			}
			if (all || i%2 == 1) && best != sandbox.None && a.try(t, "without-namespaces") != a.gap {
				t.Errorf("at level B: want that it works: %t", a.gap)
			}
		})
	}
	corpus.Check(t, group, names)
}

// try runs an attack and reports whether it has worked.
func (a reportAttack) try(t *testing.T, wrapper string, flags ...string) bool {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	shop, victim := filepath.Join(base, "shop"), filepath.Join(base, "victim")
	own := filepath.Join(shop, a.dir, ".millhand")
	commit := "false"
	if a.aside {
		commit = "{branch: millhand/try}"
	}
	files := map[string]string{
		"shop/readme": "hello\n", "shop/sub/readme": "hello\n", "victim/": "", "tmp/": "", "bin/": "",
		"manifest.yaml": "version: 1\nmodel: script:turns.yaml\nprofile: open\nprofiles: {open: {extends: build, permission: {bash: allow}}}\n" +
			"repos: [{path: shop}]\nallow_dirty: true\ntasks: [{id: try, prompt: Try., commit: " + commit + "}]\n",
		// The name is put together, so that no rule on the text sees it.
		"turns.yaml":     "version: 1\nturns:\n  - calls: [{tool: bash, args: {command: \"sh attack.sh\"}}]\n  - calls: [{tool: bash, args: {command: \"seq 1 100000\"}}]\n  - text: Done.\n",
		"shop/attack.sh": "echo x >new; SHARED=" + filepath.Join(base, "tmp") + "; SHOP=" + shop + "; VICTIM=" + victim + "; OWN=" + own + "; RUN=$(echo $OWN/runs/2*)\n" + a.line + "\n",
	}
	if rel, err := filepath.Rel(base, filepath.Join(own, "runs/earlier/report.json")); err == nil {
		files[rel] = "{}"
	}
	for name, text := range files {
		file := filepath.Join(base, name)
		if strings.HasSuffix(name, "/") {
			file = filepath.Join(file, "x")
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "/") {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "readme", "sub/readme", "attack.sh"}, {"-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-q", "-m", "start"}} {
		if out, err := exec.Command("git", append([]string{"-C", shop}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	out := a.millhand(t, base, wrapper, flags)
	found := regexp.MustCompile(`(?m)^reports: (.*)$`).FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("it names no reports:\n%s", out)
	}
	check := exec.Command("bash", "-c", a.effect)
	check.Dir, check.Env = shop, append(os.Environ(), "SHARED="+filepath.Join(base, "tmp"), "SHOP="+shop, "VICTIM="+victim, "OWN="+own, "RUN="+found[1])
	said, err := check.CombinedOutput()
	t.Logf("%s %v: worked: %t\n%s%s", wrapper, flags, err == nil, said, out)
	return err == nil
}

// millhand runs the manifest and returns what is printed.
func (a reportAttack) millhand(t *testing.T, base, wrapper string, flags []string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{filepath.Join(base, "bin", "millhand"), "run", filepath.Join(base, "manifest.yaml")}, flags...)
	for _, name := range []string{"millhand", "without-namespaces"} {
		if err := os.Symlink(program, filepath.Join(base, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	if wrapper != "" {
		args = slices.Insert(args, 0, filepath.Join(base, "bin", wrapper))
	}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(base, "shop", a.dir), &out, &out
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + base, "TMPDIR=" + filepath.Join(base, "tmp")}
	cmd.Run() // what an attack makes of the run is not the question
	return out.String()
}
