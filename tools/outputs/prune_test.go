package outputs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools/outputs"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/files"
)

func TestPruneOutputsRemovesOldFiles(t *testing.T) {
	s := tooltest.SetUp(t, "build", map[string]string{"secret": ""})
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	old := []string{"output-1.txt", "job/bash-2.txt", "job/deep/output-3.txt", "job/deep/my-tool-33.txt", "job/notes.txt", "job/output-4.log", "empty/bash-5.txt"}
	young := []string{"output-6.txt", "job/bash-7.txt"}
	for i, name := range append(old, young...) {
		s.Put("kept/"+name, "x")
		at := now.Add(-8 * 24 * time.Hour)
		if i >= len(old) {
			at = now.Add(-6 * 24 * time.Hour)
		}
		if err := os.Chtimes(filepath.Join(s.Dir, "kept", name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	s.Symlink("../secret", "kept/output-link.txt")
	dir, err := files.Open(filepath.Join(s.Dir, "kept"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := outputs.Prune(dir, now.Add(-7*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	want := []string{"kept/job/bash-7.txt", "kept/job/notes.txt", "kept/job/output-4.log", "kept/output-6.txt", "kept/output-link.txt", "secret"}
	if diff := cmp.Diff(want, s.Names()); diff != "" {
		t.Error(diff)
	}
	for _, dir := range []string{"kept/empty", "kept/job/deep"} {
		if _, err := os.Stat(filepath.Join(s.Dir, dir)); err == nil {
			t.Errorf("the empty directory %s is left", dir)
		}
	}
	if err := outputs.GiveUp(dir); err != nil {
		t.Fatal(err)
	}
	want = slices.DeleteFunc(want, func(name string) bool { return slices.Contains(young, strings.TrimPrefix(name, "kept/")) })
	if diff := cmp.Diff(want, s.Names()); diff != "" {
		t.Error(diff)
	}
}

func TestDirectoriesOfGivenUpOutputsStay(t *testing.T) {
	s := tooltest.SetUp(t, "build", map[string]string{"job/bash-1.txt": "x"})
	dir, err := files.Open(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := outputs.GiveUp(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(s.Dir, "job")); err != nil || len(left) != 0 {
		t.Errorf("left in the directory of a job: %v, %v", left, err)
	}
}
