package gitdir

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/gittest"
)

var branchNames = []string{
	"main", "a/b/c", "millhand/x-1", "ümläut", "a.b", "a{b}", "a@b", "x@", "@x", "a'b\"c$(d)&;|", "#1", "%", "+", "caf\xe9",
	"", "-x", "a..b", "a.", ".a", "a/.b", "a.lock", "a/b.lock/c", "/a", "a/", "a//b", "a b", "a~", "a^", "a:", "a?", "a*", "a[", "a\\b",
	"a\x01", "a\x7f", "a@{b", "@", "HEAD", "refs/heads/x", "lock", ".lock", "a.lock.x", "..", "a/..", "a\tb", "a\nb", "a/@",
}

func TestValidBranchAgreesWithGit(t *testing.T) {
	s := gittest.NewSandbox(t)
	for _, name := range branchNames {
		git := s.Command("check-ref-format", "--branch", name).Run() == nil
		if name == "HEAD" || name == "@" { // git accepts them here and not where a branch is made
			git = false
		}
		if err := ValidBranch(name); (err == nil) != git {
			t.Errorf("%q: got %v, git accepts it: %v", name, err, git)
		}
	}
	if ValidBranch("x/"+strings.Repeat("a", 251)) == nil {
		t.Error("a name that does not fit into a file name is accepted")
	}
}
