package changes

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/history"
)

// stage is a working tree with the committed file old.txt, and what was recorded about it.
type stage struct {
	t      *testing.T
	dir    string
	events []event.Event
	*Differences
}

func setUp(t *testing.T, include ...string) *stage {
	t.Helper()
	s := &stage{t: t, dir: t.TempDir()}
	s.write("old.txt", "1\n")
	s.write("package.json", "{}\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "start"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = s.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	program, err := proc.Look("git", os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	tree, err := gitops.Open(s.dir, gitdir.Env{GitProgram: program, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	before, err := tree.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Differences = &Differences{At: &WorkTree{Tree: tree, Before: before}, Include: include, Emit: func(e event.Event) { s.events = append(s.events, e) }}
	return s
}

func (s *stage) write(name, text string) {
	s.t.Helper()
	file := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// leaves lets something that is not the agent's write files.
func (s *stage) leaves(by event.Maker, files ...string) {
	s.t.Helper()
	end := s.By(s.t.Context(), by, false, func(context.Context) *ending.Stop {
		for _, name := range files {
			s.write(name, string(by)+"\n")
		}
		return nil
	})
	if end != nil {
		s.t.Fatal(end.Detail)
	}
}

// finds returns the changes of the agent and those that are left out, as "PATH" and "PATH by MAKER".
func (s *stage) finds() (all []string) {
	s.t.Helper()
	f, err := s.Find(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range f.Changes.Changes {
		all = append(all, c.Path)
	}
	for _, l := range f.LeftOut {
		all = append(all, l.Path+" by "+string(l.By))
	}
	slices.Sort(all)
	return all
}

func (s *stage) want(what string, want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.finds()); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestWhatOthersLeaveIsNotTheAgents(t *testing.T) {
	s := setUp(t)
	s.leaves(event.BySetup, "setup.log", "old.txt")
	s.write("own.txt", "x\n")
	s.want("after setup", "old.txt by setup", "own.txt", "setup.log by setup")
	s.write("setup.log", "the agent's\n")
	s.want("changed by the agent", "old.txt by setup", "own.txt", "setup.log")
	if f, err := s.Find(t.Context()); err != nil || !strings.Contains(strings.Join(TrackedAmong(f.LeftOut), "\n"), "tracked files that setup changed are not among the job's changes: old.txt; commit.include: [setup] adds them") {
		t.Errorf("%v, %+v", err, f)
	}
}

func TestAnAgentsFileThatVerifyFormatsStaysTheAgents(t *testing.T) {
	s := setUp(t)
	s.write("own.txt", "x\n")
	s.leaves(event.ByVerify, "own.txt", "verify.log")
	s.want("after verify", "own.txt", "verify.log by verify")
}

func TestIncludedMakersAreAmongTheChanges(t *testing.T) {
	s := setUp(t, event.BySetup.Key())
	s.leaves(event.BySetup, "setup.log")
	s.leaves(event.ByVerify, "verify.log")
	s.want("with include", "setup.log", "verify.log by verify")
}

func TestBuildsAreLeftOutUnlessAFileToolWroteThem(t *testing.T) {
	s := setUp(t)
	s.write("node_modules/a/index.js", "x\n")
	s.write("node_modules/b/index.js", "x\n")
	s.Written([]string{filepath.Join(s.dir, "node_modules/b/index.js"), filepath.Join(s.dir, "own.txt"), "/elsewhere"})
	s.want("by file tools", "node_modules/a/index.js by build", "node_modules/b/index.js")
	if len(s.events) != 1 || s.events[0].Left.By != event.ByAgent {
		t.Errorf("recorded %+v", s.events)
	}
}

// What an earlier process recorded holds for files that are still so.
func TestRecalledFilesAreThoseThatAreUnchanged(t *testing.T) {
	s := setUp(t)
	s.leaves(event.BySetup, "same.log", "other.log")
	facts := &history.Facts{}
	for _, e := range s.events {
		facts.Add(e)
	}
	next := setUp(t)
	next.write("same.log", "setup\n")
	next.write("other.log", "the agent's\n")
	if end := next.Recall(t.Context(), facts); end != nil {
		t.Fatal(end.Detail)
	}
	next.want("recalled", "other.log", "same.log by setup")
}

func TestHooksBeforeACommitChangeTheJobsFiles(t *testing.T) {
	s := setUp(t)
	s.leaves(event.BySetup, "setup.log")
	end := s.Except(t.Context(), func(context.Context) *ending.Stop {
		s.write("setup.log", "formatted\n")
		s.write("generated.go", "x\n")
		return nil
	})
	if end != nil {
		t.Fatal(end.Detail)
	}
	s.want("after the hook", "generated.go", "setup.log by setup")
}

func TestWhatWasFoundIsKeptUntilSomethingCanHaveChanged(t *testing.T) {
	s := setUp(t)
	s.Keep(&Found{Changes: &state.ChangeSet{}})
	s.write("own.txt", "x\n")
	s.want("not searched")
	s.Keep(nil)
	s.want("searched", "own.txt")
	s.Keep(&Found{Changes: &state.ChangeSet{}})
	s.leaves(event.ByVerify, "verify.log")
	s.want("after verify", "own.txt", "verify.log by verify")
}

func TestAStopIsReturnedWithWhatWasLeft(t *testing.T) {
	s := setUp(t)
	want := &ending.Stop{Code: event.CodeFailed}
	end := s.By(t.Context(), event.BySetup, true, func(context.Context) *ending.Stop {
		s.write("setup.log", "x\n")
		return want
	})
	if end != want || len(s.events) != 1 {
		t.Errorf("%+v, events %+v", end, s.events)
	}
	s.want("after a failure", "setup.log by setup")
}
