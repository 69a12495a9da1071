package site

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/tasks"
)

// copies are the private repositories that a run creates from plain directories, one per
// directory, in the run's directory.
type copies struct {
	dir string
	env gitdir.Env
	old bool // those of an earlier process are used

	mu    sync.Mutex
	made  map[string]func() (*gitops.Repo, error) // by the directory that was copied
	names map[string]bool                         // used in dir
}

func newCopies(o *Options) *copies {
	return &copies{
		dir: filepath.Join(o.Dir.Path(), "repos"), env: o.Git, old: o.History.Past != nil,
		made: map[string]func() (*gitops.Repo, error){}, names: map[string]bool{},
	}
}

// open returns the repository for a job's directory. The first call creates it;
// concurrent calls wait.
func (c *copies) open(ctx context.Context, r tasks.Repo) (*gitops.Repo, error) {
	c.mu.Lock()
	once := c.made[r.Dir]
	if once == nil {
		dst := filepath.Join(c.dir, c.name(r.Name))
		once = sync.OnceValues(func() (*gitops.Repo, error) { return c.make(ctx, r.Dir, dst) })
		c.made[r.Dir] = once
	}
	c.mu.Unlock()
	return once()
}

// make creates a repository. A run that is resumed uses that of an earlier process, which
// has the branches of its jobs, unless a kill interrupted its creation.
func (c *copies) make(ctx context.Context, src, dst string) (*gitops.Repo, error) {
	if c.old {
		if repo, err := gitops.Open(dst, c.env); err == nil {
			if head, err := repo.Git.Head(); err == nil && head.Hash != "" {
				return repo, nil
			}
		}
		if err := os.RemoveAll(dst); err != nil {
			return nil, err
		}
	}
	return gitops.CopyDirectory(ctx, src, dst, c.env)
}

// name returns an unused directory name derived from a repository's name.
func (c *copies) name(repo string) string {
	base := remote.DirName(repo)
	name := base
	for n := 2; name == "" || c.names[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	c.names[name] = true
	return name
}
