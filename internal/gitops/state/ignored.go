package state

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/ignore"
)

// IgnoreRules returns the rules for the entire working tree: those of
// core.excludesFile (or its default location), overridden by those of
// .git/info/exclude. The .gitignore files are added with Descend.
func (r *Reader) IgnoreRules() (*ignore.Matcher, error) {
	var files []ignore.Patterns
	for _, name := range []string{r.Git.Settings.ExcludesFile, filepath.Join(r.Git.Common, "info", "exclude")} {
		data, err := sharedfile.ReadOptional(name)
		if err != nil {
			return nil, fmt.Errorf("read ignore rules: %w", err)
		}
		files = append(files, ignore.Parse(data))
	}
	return ignore.New(files...), nil
}

// Ignored decides which files in a directory of the work tree are ignored: those that rules exclude and git does not track. Paths
// are relative to the directory.
type Ignored struct {
	Rules *ignore.Matcher // those of IgnoreRules and of the .gitignore files above the directory

	reader      *Reader
	dir, commit string
}

// Tracked returns the tracked paths: those of the commit, whatever an agent does to the index, and those of the index as it is now.
func (i Ignored) Tracked() ignore.Tracked {
	return i.reader.tracked.list(i.reader, i.commit).Within(i.dir)
}

// IgnoredBelow returns what decides which files in a directory of the work tree are ignored,
// slash separated and relative to the root, which is "", and with a commit, "" for none.
func (r *Reader) IgnoredBelow(dir, commit string) (Ignored, error) {
	tree := Ignored{reader: r, dir: dir, commit: commit}
	rules, err := r.IgnoreRules()
	if tree.Rules = rules; err != nil || dir == "" {
		return tree, err
	}
	root, err := os.OpenRoot(r.Git.Root)
	if err != nil {
		return tree, fmt.Errorf("read ignore rules: %w", err)
	}
	defer root.Close()
	at := ""
	for name := range strings.SplitSeq(dir, "/") {
		file := path.Join(at, ".gitignore")
		if st, err := root.Lstat(file); err == nil && st.Mode().IsRegular() && st.Size() <= content.MaxRuleFileSize {
			if data, err := root.ReadFile(file); err == nil {
				rules = rules.Descend(at, data)
			}
		}
		at = path.Join(at, name)
	}
	tree.Rules = rules.Within(dir)
	return tree, nil
}

// trackedPaths are the tracked paths of a work tree. They are listed again when the index changes.
type trackedPaths struct {
	mu     sync.Mutex
	listed bool
	commit string
	index  gitdir.Stat // of its file, the zero value if missing
	paths  ignore.Tracked
}

// list returns the paths of a commit and of the index. A damaged index, and a commit whose objects are
// missing, have none.
func (t *trackedPaths) list(r *Reader, commit string) ignore.Tracked {
	t.mu.Lock()
	defer t.mu.Unlock()
	var at gitdir.Stat
	if info, err := os.Lstat(filepath.Join(r.Git.Own, "index")); err == nil {
		at = gitdir.StatOf(info)
	}
	if t.listed && t.commit == commit && t.index == at {
		return t.paths
	}
	var paths []string
	if idx, err := r.Git.Index(); err == nil {
		paths = make([]string, 0, len(idx.Entries))
		for _, path := range ownPaths(idx) {
			paths = append(paths, path)
		}
	}
	if s, err := r.SnapshotOf(commit); err == nil {
		paths = slices.AppendSeq(paths, maps.Keys(s.ByPath()))
		slices.Sort(paths)
		paths = slices.Compact(paths)
	}
	t.listed, t.commit, t.index, t.paths = true, commit, at, ignore.NewTracked(paths)
	return t.paths
}
