package gitops

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// filtersOf runs clean commands like git.
func filtersOf(t *testing.T, s *gittest.Sandbox) content.Filters {
	t.Helper()
	command := proc.Command{Dir: s.Root, Env: []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()}}
	return content.Filters{Apply: true, Context: t.Context(), Command: &command}
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
	want := "a.bad: the clean command of filter bad: exit code 1: no\n" +
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
	if pushed := measure(t, r.WithFilters(content.Filters{Apply: true, Pushed: true}), base); len(pushed.Refused) != 3 {
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

// Only the user chooses a directory outside of the git directory for files of Git LFS.
func TestFilesOfLFSAreNotStoredWhereARepositoryWants(t *testing.T) {
	elsewhere := t.TempDir()
	for name, c := range map[string]struct {
		plant   func(s *gittest.Sandbox)
		refused string // "" for a file that is stored
		stored  string // below the git directory, or elsewhere
	}{
		"an absolute path of the repository": {func(s *gittest.Sandbox) { s.Run("config", "lfs.storage", elsewhere) }, "leads out of its git directory", ""},
		"a climbing path of the repository":  {func(s *gittest.Sandbox) { s.Run("config", "lfs.storage", "x/../../..") }, "leads out of its git directory", ""},
		"a path that the repository includes": {func(s *gittest.Sandbox) {
			s.Write(".git/more", "[lfs]\n\tstorage = "+elsewhere+"\n")
			s.Run("config", "include.path", "more")
		}, "leads out of its git directory", ""},
		"a path of .lfsconfig": {func(s *gittest.Sandbox) { s.Write(".lfsconfig", "[lfs]\n\tstorage = "+elsewhere+"\n") }, "", ".git/lfs"},
		"a symlink":            {func(s *gittest.Sandbox) { s.Symlink(elsewhere, ".git/lfs") }, "path escapes", ""},
		"a symlink below":      {func(s *gittest.Sandbox) { s.Write(".git/lfs/x", ""); s.Symlink(elsewhere, ".git/lfs/objects") }, "path escapes", ""},
		"a symlink in a directory": {func(s *gittest.Sandbox) {
			s.Run("config", "lfs.storage", "inside")
			s.Symlink(elsewhere, ".git/inside")
		}, "path escapes", ""},
		"a directory in the git directory":    {func(s *gittest.Sandbox) { s.Run("config", "lfs.storage", "inside") }, "", ".git/inside"},
		"the user's directory":                {func(s *gittest.Sandbox) { s.Run("config", "--global", "lfs.storage", elsewhere) }, "", elsewhere},
		"the user's one in the git directory": {func(s *gittest.Sandbox) { s.Run("config", "--global", "lfs.storage", "own") }, "", ".git/own"},
		"the user's and one of the repository": {func(s *gittest.Sandbox) {
			s.Run("config", "--global", "lfs.storage", "own")
			s.Run("config", "lfs.storage", "/")
		}, "leads out of its git directory", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := gittest.NewSandbox(t)
			s.Run("config", "--global", "filter.lfs.clean", "git-lfs clean -- %f")
			s.Write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
			base := s.Commit()
			c.plant(s)
			content := name + "\n"
			s.Write("new.bin", content)
			cs := measure(t, opened(s).WithFilters(filtersOf(t, s)), base)
			var refused []string
			for _, f := range cs.Refused {
				refused = append(refused, f.Path+": "+f.Reason)
			}
			text := strings.Join(refused, ", ")
			if (text == "") != (c.refused == "") || !strings.Contains(text, c.refused) {
				t.Errorf("refused %q, want %q", text, c.refused)
			}
			sum := sha256.Sum256([]byte(content))
			oid := hex.EncodeToString(sum[:])
			for _, dir := range []string{elsewhere, filepath.Join(s.Root, ".git/lfs"), filepath.Join(s.Root, ".git/inside"), filepath.Join(s.Root, ".git/own")} {
				want := c.stored != "" && (dir == c.stored || dir == filepath.Join(s.Root, c.stored))
				for _, objects := range []string{"objects", "."} {
					_, err := os.Stat(filepath.Join(dir, objects, oid[:2], oid[2:4], oid))
					if got := err == nil; got != (want && objects == "objects") {
						t.Errorf("stored in %s/%s: %v", dir, objects, got)
					}
				}
			}
		})
	}
}
