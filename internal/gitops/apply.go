package gitops

import (
	"context"
	"errors"
	"fmt"
)

// Apply applies a patch of [Reader.Patch], in a file with an absolute path, to the files of a
// linked worktree of its base, with the git program. It changes all of them or none.
func (r *Repo) Apply(ctx context.Context, file string) error {
	settings, ok, err := gitSettings(r.Git)
	switch {
	case err != nil:
		return fmt.Errorf("apply %s: %w", file, err)
	case !ok || r.Git.Env.GitProgram == "":
		return errors.New("apply a patch: the git program is missing, or can't be run safely with the configuration of the repository")
	}
	return runGit(ctx, r.Git, r.Git.Root, append(settings, "-C", r.Git.Root, "--git-dir="+r.Git.Own, "--work-tree="+r.Git.Root,
		"apply", "--whitespace=nowarn", "--", file))
}
