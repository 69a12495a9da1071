package site

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/tasks"
)

// copies are the private repositories that a run creates from plain directories, one per
// directory, in the run's directory.
type copies struct {
	dir *files.Dir
	env gitdir.Env
	old bool // those of an earlier process are used

	mu    sync.Mutex
	made  map[string]func() (*gitops.Repo, error) // by the directory that was copied
	names map[string]bool                         // used in dir
}

func newCopies(o *Options) *copies {
	return &copies{
		dir: o.Dir.Sub("repos"), env: o.Git, old: o.History.Past != nil,
		made: map[string]func() (*gitops.Repo, error){}, names: map[string]bool{},
	}
}

// open returns the repository for a job's directory. The first call creates it;
// concurrent calls wait.
func (c *copies) open(ctx context.Context, r tasks.Repo) (*gitops.Repo, error) {
	c.mu.Lock()
	once := c.made[r.Dir]
	if once == nil {
		name := c.name(r.Name)
		once = sync.OnceValues(func() (*gitops.Repo, error) { return c.make(ctx, r.Dir, name) })
		c.made[r.Dir] = once
	}
	c.mu.Unlock()
	return once()
}

// make creates a repository. A run that is resumed uses that of an earlier process, which
// has the branches of its jobs. It is there only if it is complete, and one that can't be
// opened is left to the user.
func (c *copies) make(ctx context.Context, src, name string) (*gitops.Repo, error) {
	dst := filepath.Join(c.dir.Path(), name)
	if c.old && c.dir.Exists(name) {
		repo, err := gitops.Open(dst, c.env)
		if err != nil {
			return nil, fmt.Errorf("use the copy of %s with the commits of earlier jobs, repair or remove %s: %w", src, dst, err)
		}
		return repo, nil
	}
	unfinished := "." + name // other names have no dot there
	if err := c.dir.RemoveAll(unfinished); err != nil {
		return nil, err
	}
	if _, err := gitops.CopyDirectory(ctx, src, filepath.Join(c.dir.Path(), unfinished), c.env); err != nil {
		return nil, err
	}
	if err := c.dir.Rename(unfinished, name); err != nil {
		return nil, fmt.Errorf("copy directory %s: %w", src, err)
	}
	return gitops.Open(dst, c.env)
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
