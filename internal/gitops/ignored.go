package gitops

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/ignore"
)

// IgnoreRules returns the rules for the entire working tree: those of
// core.excludesFile (or its default location), overridden by those of
// .git/info/exclude. The .gitignore files are added with Descend.
func (r *Repo) IgnoreRules() (*ignore.Matcher, error) {
	var files []ignore.Patterns
	for _, name := range []string{r.Git.Settings.ExcludesFile, filepath.Join(r.Git.Common, "info", "exclude")} {
		data, err := gitdir.ReadOptional(name)
		if err != nil {
			return nil, fmt.Errorf("read ignore rules: %w", err)
		}
		files = append(files, ignore.Parse(data))
	}
	return ignore.New(files...), nil
}

// IgnoreRulesBelow returns the rules that hold for a directory of the work tree,
// slash separated and relative to the root, which is "": those of IgnoreRules and
// of the .gitignore files above it. Paths are matched relative to the directory.
func (r *Repo) IgnoreRulesBelow(dir string) (*ignore.Matcher, error) {
	rules, err := r.IgnoreRules()
	if err != nil || dir == "" {
		return rules, err
	}
	root, err := os.OpenRoot(r.Git.Root)
	if err != nil {
		return nil, fmt.Errorf("read ignore rules: %w", err)
	}
	defer root.Close()
	at := ""
	for name := range strings.SplitSeq(dir, "/") {
		file := path.Join(at, ".gitignore")
		if st, err := root.Lstat(file); err == nil && st.Mode().IsRegular() && st.Size() <= maxRuleFileSize {
			if data, err := root.ReadFile(file); err == nil {
				rules = rules.Descend(at, data)
			}
		}
		at = path.Join(at, name)
	}
	return rules.Within(dir), nil
}
