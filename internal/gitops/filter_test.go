package gitops

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// filtersOf runs clean commands like git.
func filtersOf(t *testing.T, s *gittest.Sandbox) content.Filters {
	t.Helper()
	return content.Filters{Clean: func(command, _ string, content []byte) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir, cmd.Stdin = s.Root, bytes.NewReader(content)
		return cmd.Output()
	}}
}

func TestCleanFiltersOfTheUserAreThoseOfGit(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Run("config", "--global", "filter.up.clean", "tr a-z A-Z")
	s.Run("config", "--global", "filter.up.smudge", "tr A-Z a-z")
	s.Run("config", "--global", "filter.up.required", "true")
	s.Run("config", "--global", "filter.named.clean", "cat; printf '%%s\\n' %f")
	s.Write(".gitattributes", "*.up filter=up text\n*.named filter=named\n*.none filter=nobody\n*.unset -filter\n",
		"old.up", "old\n", "same.up", "same\n", "a.named", "x\n")
	base := s.Commit()
	s.Write("old.up", "changed\r\n", "new.up", "new\n", "empty.up", "", "it's 100%.named", "y\n", "f.none", "raw\n", "f.unset", "raw\n")
	s.Write("same.up", "SAME\n") // what a checkout without filters has
	r := opened(s).WithFilters(filtersOf(t, s))
	cs := measure(t, r, base)
	if _, err := r.Patch(t.Context(), cs); err != nil {
		t.Fatal(err)
	}
	got, err := r.Commit(t.Context(), cs, options(base))
	must(t, err)
	s.Run("reset", "-q", base)
	s.Run("add", "-A")
	if want := s.Run("write-tree"); got.Tree != want {
		t.Errorf("differs from git:\n%s", s.Run("diff", want, got.Tree))
	}
	if strings.Contains(strings.Join(paths(cs), " "), "same") {
		t.Errorf("an unchanged file is a change: %v", paths(cs))
	}
}

func TestAFilterThatFailsRefusesItsPath(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Run("config", "--global", "filter.bad.clean", "echo no >&2; exit 1")
	s.Run("config", "--global", "filter.process.process", "serve")
	s.Write(".gitattributes", "*.bad filter=bad\n*.process filter=process\n", "a.bad", "1\n")
	base := s.Commit()
	s.Write("a.bad", "2\n", "b.process", "2\n", "c", "2\n")
	r := opened(s).WithFilters(filtersOf(t, s))
	cs := measure(t, r, base)
	var refused []string
	for _, f := range cs.Refused {
		refused = append(refused, f.Path+": "+f.Reason)
	}
	want := "a.bad: the clean command of filter bad: exit status 1\n" +
		"b.process: the filter process has only filter.process.process, which is not supported: set filter.process.clean"
	if got := strings.Join(refused, "\n"); got != want {
		t.Errorf("refused:\n%s", got)
	}
	patch, err := r.Patch(t.Context(), cs)
	if err != nil || !strings.Contains(string(patch), "a.bad") {
		t.Errorf("the change is not in the patch: %v\n%s", err, patch)
	}
}

func TestFilesOfLFSAreStoredAsPointers(t *testing.T) {
	s := gittest.NewSandbox(t)
	for key, value := range map[string]string{"clean": "git-lfs clean -- %f", "process": "git-lfs filter-process", "required": "false"} {
		s.Run("config", "--global", "filter.lfs."+key, value)
	}
	s.Write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
	base := s.Commit()
	sum := sha256.Sum256([]byte("large\n"))
	oid := hex.EncodeToString(sum[:])
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + oid + "\nsize 6\n"
	s.Write("new.bin", "large\n", "empty.bin", "", "pointer.bin", pointer)
	r := opened(s)
	if pushed := measure(t, r.WithFilters(content.Filters{Clean: filtersOf(t, s).Clean, Pushed: true}), base); len(pushed.Refused) != 3 {
		t.Errorf("refused with a push: %v", pushed.Refused)
	}
	r = r.WithFilters(filtersOf(t, s))
	cs := measure(t, r, base)
	_, err := r.Commit(t.Context(), cs, options(base))
	must(t, err)
	for path, want := range map[string]string{"new.bin": pointer, "pointer.bin": pointer, "empty.bin": ""} {
		if got := s.Run("show", "HEAD:"+path); got != strings.TrimSuffix(want, "\n") {
			t.Errorf("%s is stored as %q", path, got)
		}
	}
	if data, err := os.ReadFile(filepath.Join(s.Root, ".git/lfs/objects", oid[:2], oid[2:4], oid)); err != nil || string(data) != "large\n" {
		t.Errorf("the object: %q, %v", data, err)
	}
}
