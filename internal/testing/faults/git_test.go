package faults

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
)

// disturbance is what somebody else does to the repository, or to the remote, while
// a run works.
type disturbance struct {
	do     func(*world)
	breaks bool // jobs may fail by it
}

var disturbances = map[string]disturbance{
	"gc":        {do: func(w *world) { w.gitAgain("gc", "-q", "--prune=now") }},
	"repack":    {do: func(w *world) { w.gitAgain("repack", "-q", "-a", "-d") }},
	"pack-refs": {do: func(w *world) { w.git("pack-refs", "--all") }},
	// Git documents that --prune=now can remove what a push is writing.
	"remote gc":  {do: func(w *world) { w.git("--git-dir", "../origin.git", "gc", "-q", "--prune=now") }, breaks: true},
	"prune":      {do: func(w *world) { w.git("worktree", "prune") }},
	"index lock": {do: func(w *world) { w.lock("shop/.git/index.lock") }},
	"refs lock":  {do: func(w *world) { w.lock("shop/.git/packed-refs.lock") }},
	"main moves": {do: func(w *world) {
		main := w.git("--git-dir", "../origin.git", "commit-tree", "-p", "main", "-m", "more", "main^{tree}")
		w.git("--git-dir", "../origin.git", "update-ref", "refs/heads/main", main)
	}},
	"remote refuses": {do: func(w *world) { w.write("origin.git/hooks/pre-receive", "#!/bin/sh\nexit 1\n", 0o700) }, breaks: true},
	"remote is gone": {do: func(w *world) {
		if err := os.Rename(filepath.Join(w.dir, "origin.git"), filepath.Join(w.dir, "gone.git")); err != nil {
			w.t.Error(err)
		}
	}, breaks: true},
	"config lock": {do: func(w *world) { w.lock("shop/.git/config.lock") }},
}

// gitAgain runs a git command that fails if a worktree is removed meanwhile, also by git
// itself; it succeeds at another attempt.
func (w *world) gitAgain(args ...string) {
	w.t.Helper()
	for range 5 {
		if _, err := w.tryGit(args...); err == nil {
			return
		}
	}
	w.git(args...)
}

func (w *world) write(name, text string, mode os.FileMode) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), mode); err != nil {
		w.t.Error(err)
	}
}

// lock holds a lock file of git's for a moment.
func (w *world) lock(name string) {
	w.t.Helper()
	file, err := os.OpenFile(filepath.Join(w.dir, name), os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return // somebody holds it
	}
	time.Sleep(100 * time.Millisecond)
	if err := file.Close(); err != nil {
		w.t.Error(err)
	}
	if err := os.Remove(file.Name()); err != nil {
		w.t.Error(err)
	}
}

// TestRepositoriesInUse lets somebody work on the repository, or on the remote, while a
// run does.
func TestRepositoriesInUse(t *testing.T) {
	template := template(t)
	random, ended := nightly.Random(t), counts{}
	took := span(t, template)
	names := slices.Sorted(maps.Keys(disturbances))
	for range nightly.Count(2, 100, 400) {
		name, at := names[random.IntN(len(names))], moment(random, took)
		t.Run(fmt.Sprintf("%s %v", name, at), func(t *testing.T) {
			w := newWorld(t, template, nil)
			cmd := w.run(t.Context(), "r")
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(at)
			disturbances[name].do(w)
			code := exitCode(t, cmd.Wait())
			w.checkProcesses()
			if gone := filepath.Join(w.dir, "gone.git"); name == "remote is gone" {
				if err := os.Rename(gone, filepath.Join(w.dir, "origin.git")); err != nil {
					t.Error(err)
				}
			}
			w.checkRepositories()
			w.checkLeftovers()
			r := w.checkReport("r", false)
			if r.Run.ExitCode != code {
				t.Errorf("exit code %d, reported is %d", code, r.Run.ExitCode)
			}
			broken := code == 7 || code == 1 && r.Run.Totals.Turns == 0 // before the work or after it
			if code != 0 && !(disturbances[name].breaks && broken) {
				t.Errorf("exit code %d:\n%s", code, strings.TrimSpace(out.String()))
			}
			ended[fmt.Sprintf("%s: exit code %d", name, code)]++
		})
	}
	ended.log(t)
}
