package gitops

import (
	"fmt"
	"path/filepath"

	"github.com/millhand/millhand/internal/ignore"
)

// IgnoreRules returns the rules that hold for the whole work tree: those of
// core.excludesFile (or its default place), and over them those of
// .git/info/exclude. The .gitignore files are added on the way down, with
// Descend.
func (r *Repo) IgnoreRules() (*ignore.Matcher, error) {
	var files []ignore.Patterns
	for _, name := range []string{r.config.excludesFile, filepath.Join(r.commonDir, "info", "exclude")} {
		data, err := readOptional(name)
		if err != nil {
			return nil, fmt.Errorf("read ignore rules: %w", err)
		}
		files = append(files, ignore.Parse(data))
	}
	return ignore.New(files...), nil
}
