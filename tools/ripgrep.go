package tools

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/tools/search"
)

// ripgrep returns what runs ripgrep for a session; nil if there is none. It
// runs with an empty environment, so that nothing configures it, and in a
// process group that ends with the call.
func (env *Env) ripgrep() search.Ripgrep {
	file := env.findRipgrep()
	if file == "" {
		return nil
	}
	return func(ctx context.Context, dir string, args []string, out io.Writer) (int, error) {
		res, err := proc.Run(ctx, proc.Command{Args: append([]string{file}, args...), Dir: dir, Output: out})
		return res.ExitCode, err
	}
}

// findRipgrep looks for ripgrep on the PATH of commands, "" if it is not there.
// What lies in the workspace, or leads into it, is not what the user installed,
// and neither is what a relative folder of the PATH has.
func (env *Env) findRipgrep() string {
	work, err := filepath.EvalSymlinks(env.Workspace.Dir())
	if err != nil {
		return ""
	}
	for _, dir := range filepath.SplitList(proc.Value(env.ChildEnv, "PATH")) {
		folder, err := filepath.EvalSymlinks(dir)
		if err != nil || !filepath.IsAbs(dir) || within(env.Workspace.Dir(), filepath.Clean(dir)) || within(work, folder) {
			continue
		}
		name := filepath.Join(dir, "rg")
		target, err := filepath.EvalSymlinks(name)
		if err != nil || within(work, target) {
			continue
		}
		if st, err := os.Stat(target); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return name
		}
	}
	return ""
}

// within reports whether a clean path is a folder or lies below it.
func within(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}
