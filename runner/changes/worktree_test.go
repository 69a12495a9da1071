package changes

import (
	"slices"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/state"
)

func TestFilesAfterTheStartAreWarnedOf(t *testing.T) {
	s := setUp(t)
	s.write(".gitignore", "*.local\n")
	s.write("old.local", "x\n")
	if err := s.At.NoteStart(t.Context(), true, false); err != nil {
		t.Fatal(err)
	}
	if s.At.Warning() != "" || s.At.staysIgnored() {
		t.Errorf("at the start: %q", s.At.Warning())
	}
	s.write("new.local", "x\n")
	s.write(".millhand/report.local", "x\n")
	s.At.Reports = []string{".millhand"}
	if err := s.At.NoteUntracked(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := s.At.Warning(), "verify could read new or changed files that are not in the job's changes: new.local"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.At.InPlace = true
	if got, want := s.At.Warning(), "new or changed files that are not in the job's changes stay in the working tree: new.local"; got != want || !s.At.staysIgnored() {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := s.At.UntrackedInputs(); len(got) != 1 || got[0].Path != "new.local" {
		t.Errorf("got %+v", got)
	}
}

// Without verify commands in the workspace, nothing reads what git ignores in a worktree.
func TestFilesThatNothingReadsAreNotCollected(t *testing.T) {
	s := setUp(t)
	if err := s.At.NoteStart(t.Context(), false, false); err != nil {
		t.Fatal(err)
	}
	if s.At.untracked.start != nil || !s.At.untracked.known {
		t.Errorf("%+v", s.At.untracked)
	}
}

func TestAUsersTreeIsComparedWithItsCommit(t *testing.T) {
	before, committed := &state.Snapshot{}, &state.Snapshot{}
	p := &WorkTree{Before: before, Committed: committed}
	if p.ComparedWith() != before {
		t.Error("a worktree is compared with its start")
	}
	if p.InPlace = true; p.ComparedWith() != committed {
		t.Error("the user's tree is compared with what is committed")
	}
}

func TestManyLeftOutFilesAreSummarizedByMaker(t *testing.T) {
	var left []LeftOut
	for i := range maxUntracked + 1 {
		left = append(left, LeftOut{LeftOutPath: event.LeftOutPath{Path: "node_modules/" + string(rune('a'+i%26)) + string(rune('a'+i/26)), By: event.ByBuild, Files: 1}})
	}
	left = append(left, LeftOut{LeftOutPath: event.LeftOutPath{Path: "setup.log", By: event.BySetup, Files: 1}})
	got := SummarizeLeft(left)
	want := []event.LeftOutPath{{Path: "node_modules/", By: event.ByBuild, Files: maxUntracked + 1}, {Path: "setup.log", By: event.BySetup, Files: 1}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	if few := SummarizeLeft(left[:2]); len(few) != 2 || few[0] != left[0].LeftOutPath {
		t.Errorf("got %+v", few)
	}
}

func TestArtifactsAreUntrackedFilesBesideTheirManifest(t *testing.T) {
	s := setUp(t)
	s.write("node_modules/a/index.js", "x\n")
	a := NewArtifacts(s.dir, s.At.Before)
	if !a.Is("node_modules/a/index.js") || a.dir("node_modules/a/index.js") != "node_modules/" {
		t.Error("modules of package.json are artifacts")
	}
	if a.Is("package.json") || a.dir("own.txt") != "" || !a.tracked("old.txt") || a.tracked("node_modules/") {
		t.Error("tracked files and others are no artifacts")
	}
}
