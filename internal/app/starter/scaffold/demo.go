package scaffold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/millhand/millhand/internal/app/starter"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/text/printable"
)

// demonstrate writes the quickstart to the directory, which must be missing or empty, as a
// git repository with one commit.
func (o Options) demonstrate(ctx context.Context, w world.World) error {
	if o.OpenCode || o.GitHub || o.GitLab || o.Cron || o.Force {
		return errors.New("--demo excludes the other flags; it writes to a new directory")
	}
	if entries, err := os.ReadDir(o.Dir); len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, fmt.Errorf("%s is not empty: name a new directory", o.Dir))
	}
	all, err := starter.Demo()
	if err != nil {
		return err
	}
	written, err := files.MakeTemp("", "millhand-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(written.Path())
	defer written.Close()
	for _, f := range all {
		if err := written.Write(f.Path, f.Data, f.Mode); err != nil {
			return err
		}
	}
	if _, err := gitops.CopyDirectory(ctx, written.Path(), o.Dir, w.GitEnv()); err != nil {
		return err
	}
	dir := printable.Text(o.Dir)
	fmt.Fprintf(w.Out, "wrote %s, a git repository with %d files\nnext: cd %[1]s && millhand run\n", dir, len(all))
	return nil
}
