// Package file has the tools that read, write, edit and patch files. Packages edit and patch make the texts; this
// one knows encodings, and writes no files except those that the paths of a call name. It also has the
// instructions of directories that are attached to what is read ([Notes]).
package file

import (
	"context"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/tools/change"
	"github.com/millhand/millhand/tools/language"
	"github.com/millhand/millhand/tools/media"
	"github.com/millhand/millhand/tools/tool"
)

// Env is what the tools need of a session.
type Env struct {
	language.Env
	Changes  *change.Tracker // nil: none
	Notes    *Notes          // nil: read attaches none
	Accepts  media.Accepted
	MaxBytes int // of an output
}

// change runs a change of files, and appends the errors that language servers find after it.
func (env Env) change(ctx context.Context, paths []workspace.Path, do func() (tool.Result, error)) (tool.Result, error) {
	return env.Checked(ctx, paths, func() (tool.Result, error) { return env.Changes.Do(paths, do) })
}
