package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/gittest"
)

func TestApplyIsTheInverseOfPatch(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("text", strings.Repeat("a\n", 50), "gone", "x\n", "crlf", "a\r\nb\r\n", "run", "x")
	base := s.Commit()
	r := opened(s)
	worktree := func() *Repo {
		wt, err := r.AddWorktree(t.Context(), filepath.Join(t.TempDir(), "wt"), base)
		must(t, err)
		return wt
	}
	changed := worktree()
	at := s.At(changed.Root())
	at.Write("text", strings.Repeat("a\n", 25)+"b  \n"+strings.Repeat("a\n", 25), "crlf", "a\r\nc\r\n", "ü new/file", "no newline", "binary", "\x00\x01", "empty", "")
	at.Remove("gone")
	at.Symlink("text", "link")
	at.Chmod(0o755, "run")
	commit := func(r *Repo) string {
		done, err := r.Commit(t.Context(), measure(t, r, base), options(base))
		must(t, err)
		return done.Hash
	}
	patch, err := changed.Patch(t.Context(), measure(t, changed, base))
	must(t, err)
	file := filepath.Join(t.TempDir(), "patch")
	must(t, os.WriteFile(file, patch, 0o600))
	fresh := worktree()
	must(t, fresh.Apply(t.Context(), file))
	if got, want := commit(fresh), commit(changed); got != want {
		t.Errorf("commit %s, want %s", got, want)
	}
	must(t, os.WriteFile(file, []byte(strings.Replace(string(patch), " a\n", " z\n", 1)), 0o600))
	other := worktree()
	if err := other.Apply(t.Context(), file); err == nil || !strings.Contains(err.Error(), "text") {
		t.Errorf("a patch of other files: %v", err)
	}
	if got := measure(t, other, base).Changes; len(got) != 0 {
		t.Errorf("it changed %v", got)
	}
}

func TestSignaturesAreParsed(t *testing.T) {
	for _, text := range []string{"millhand <millhand@localhost> 1700000000 +0000", "Ada L <ada@example.com> 1700000000 -0730"} {
		if s, err := ParseSignature(text); err != nil || s.String() != text {
			t.Errorf("%q: %q, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "Ada", "Ada <ada@example.com>", "Ada <> 1 +0000"} {
		if s, err := ParseSignature(text); err == nil {
			t.Errorf("%q: %q", text, s)
		}
	}
}
