package state

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// TestStatusOfRandomTrees compares the status of random trees with git's. Few names, of which some are
// prefixes of others, give many directories that were files, and files that were directories.
func TestStatusOfRandomTrees(t *testing.T) {
	random := nightly.Random(t)
	trees := nightly.Count(20, 1000, 10_000)
	if testing.Short() {
		trees = 7
	}
	for range trees {
		seed := random.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			c := &changer{gittest.NewSandbox(t), rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // a repeatable sequence is wanted
			c.Write(".git0/x", "0\n")
			c.files(30)
			c.Commit()
			for range 3 {
				for range c.r.IntN(6) {
					c.change()
				}
				c.compare(t)
			}
		})
	}
}

type changer struct {
	*gittest.Sandbox
	r *rand.Rand
}

// path returns a random path, of which directories may exist as files.
func (c *changer) path() string {
	names := []string{"a", "a-", "a.", "a0", "A", "b", "b\n", "\xff", ".git0", "git", "log", "a a", "é", "~"}
	path := []string{names[c.r.IntN(len(names))]}
	for c.r.IntN(2) == 0 {
		path = append(path, names[c.r.IntN(len(names))])
	}
	return strings.Join(path, "/")
}

// files writes files where it can.
func (c *changer) files(n int) {
	for range n {
		name := filepath.Join(c.Root, c.path())
		_ = os.MkdirAll(filepath.Dir(name), 0o755)
		_ = os.WriteFile(name, []byte{byte('0' + c.r.IntN(3)), '\n'}, []os.FileMode{0o644, 0o755}[c.r.IntN(2)])
	}
}

// change changes the tree or the index, if that is possible.
func (c *changer) change() {
	name := filepath.Join(c.Root, c.path())
	tracked := strings.Split(strings.TrimSuffix(c.Run("ls-files", "-z"), "\x00"), "\x00")
	one := tracked[c.r.IntN(len(tracked))]
	git := func(args ...string) { _ = c.Command(args...).Run() }
	_ = os.MkdirAll(filepath.Dir(name), 0o755)
	switch c.r.IntN(15) {
	case 0:
		_ = os.RemoveAll(name)
		_ = os.Symlink("nowhere", name) // git reports no deletion behind a loop
	case 1, 2:
		_ = os.RemoveAll(name)
	case 3:
		_ = os.RemoveAll(filepath.Join(c.Root, one))
	case 4:
		_ = os.Chmod(filepath.Join(c.Root, one), 0o755)
	case 5:
		_ = os.Rename(name, filepath.Join(c.Root, "b"))
	case 6:
		c.Write(".gitignore", "log\n/a\nb/\n!a0\n")
	case 7:
		c.Run("add", "-A")
	case 8:
		git("update-index", "--assume-unchanged", "--", one)
	case 9:
		git("update-index", "--skip-worktree", "--", one)
	case 10:
		git("rm", "-q", "--cached", "--", one)
	case 11:
		git("add", "-f", "-N", "--", name)
	case 12:
		git("status")
	case 13: // a conflict
		cmd := c.Command("update-index", "-z", "--index-info")
		hash := c.Run("rev-parse", "HEAD:.git0/x")
		cmd.Stdin = strings.NewReader(fmt.Sprintf("0 %040d\t%[2]s\x00100644 %[3]s 1\t%[2]s\x00100644 %[3]s 3\t%[2]s\x00", 0, one, hash))
		_ = cmd.Run()
	default:
		c.files(1 + c.r.IntN(4))
	}
}

// compare compares the status with git's, and with that by a list of the commit's files.
func (c *changer) compare(t *testing.T) {
	t.Helper()
	r := opened(c.Sandbox)
	status, err := r.Status(t.Context())
	must(t, err)
	dirty, err := r.Dirty(t.Context())
	must(t, err)
	for _, got := range [][]string{status.Dirty, dirty} {
		if diff := cmp.Diff(c.StatusPaths(), got); diff != "" {
			t.Fatalf("(-git +got):\n%s", diff)
		}
	}
}
