package remote

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/millhand/millhand/internal/gitops"
)

// fetchers are two mirrors of the same origin over http: that of this package, and one of the git program.
type fetchers struct {
	*origin
	depth int
	ours  Repo
	dir   string // of git's
	asked atomic.Int64
}

// counted counts the bytes of a request.
type counted struct {
	io.ReadCloser
	n *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n.Add(int64(n))
	return n, err
}

func (o *origin) fetchers(depth int) *fetchers {
	f := &fetchers{origin: o, depth: depth, dir: filepath.Join(filepath.Dir(o.Root), fmt.Sprint("git", depth))}
	f.ours = o.overHTTP(func(r *http.Request) { r.Body = counted{r.Body, &f.asked} })
	must(o.T, os.MkdirAll(f.dir, 0o755))
	o.At(f.dir).Run("init", "-q", "--bare", "-b", "main")
	return f
}

// fetch updates both mirrors, and returns the bytes in both directions.
func (f *fetchers) fetch() (ours, git int64) {
	f.T.Helper()
	f.sent.Store(0)
	f.asked.Store(0)
	mirror, err := Mirror(f.T.Context(), filepath.Join(filepath.Dir(f.Root), fmt.Sprint("mirror", f.depth)), f.ours, MirrorOptions{Depth: f.depth}, f.env())
	must(f.T, err)
	resolves(f.T, gitops.New(mirror), "main", f.at("main"))
	ours = f.sent.Load() + f.asked.Load()
	f.sent.Store(0)
	f.asked.Store(0)
	args := []string{"fetch", "-q", "--prune"}
	if f.depth > 0 {
		args = append(args, fmt.Sprint("--depth=", f.depth))
	}
	url := strings.Replace(f.ours.URL, "http://", "http://"+tokenUser+":"+testToken+"@", 1)
	f.At(f.dir).Run(append(args, url, "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")...)
	return ours, f.sent.Load() + f.asked.Load()
}

// TestAFetchTransfersAsMuchAsThatOfGit compares the bytes in both directions with those of git fetch, on a
// small copy of a repository with much history, of random files in commits.
func TestAFetchTransfersAsMuchAsThatOfGit(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	o := newOrigin(t)
	files := func(n int) {
		for i := range n {
			o.Write(fmt.Sprintf("dir%d/file%d", i%20, i), randomText(20_000))
			if i%10 == 0 || n == 10 {
				o.Commit()
			}
		}
		o.advance("main", "last", randomText(10))
	}
	files(100)
	for depth := range 2 {
		f := o.fetchers(depth)
		for _, change := range []struct {
			what string
			make func()
		}{
			{"everything", func() {}},
			{"nothing", func() {}},
			{"10 commits with new files", func() { files(10) }},
			{"a line", func() { o.advance("main", "last", randomText(10)) }},
			{"nothing, with references of pull requests", func() {
				var refs strings.Builder
				for i := range 300 {
					fmt.Fprintf(&refs, "create refs/pull/%d%d/head %s\n", depth, i, o.at("main"))
				}
				cmd := o.bare.Command("update-ref", "--stdin")
				cmd.Stdin = strings.NewReader(refs.String())
				must(t, cmd.Run())
			}},
			{"a branch", func() { o.advance(fmt.Sprint("fresh", depth), "a", "fresh\n"); o.Run("checkout", "-q", "main") }},
		} {
			change.make()
			ours, git := f.fetch()
			t.Logf("depth %d, %s: %d bytes, git %d", depth, change.what, ours, git)
			if ours > git+git/10+2000 {
				t.Errorf("depth %d, %s: %d bytes, git %d", depth, change.what, ours, git)
			}
		}
	}
}
