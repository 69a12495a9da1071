package toolbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/millhand/millhand/internal/files"
)

// openOutputs opens the directory for saved outputs of single calls. It is the same
// for every call, so that later calls can read them. Its name is predictable, so a
// directory that another user created or can write to is not used, but a new one with
// a random name. The caller closes it.
func openOutputs(tmp string) (*files.Dir, error) {
	name := fmt.Sprintf("millhand-outputs-%d", os.Geteuid())
	if err := os.Mkdir(filepath.Join(tmp, name), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create a directory for outputs: %w", err)
	}
	dir, err := files.Enter(tmp, name)
	if err == nil && dir.Own() {
		return dir, nil
	}
	if err == nil {
		dir.Close()
	}
	fresh, err := os.MkdirTemp(tmp, "millhand-outputs-")
	if err != nil {
		return nil, fmt.Errorf("create a directory for outputs: %w", err)
	}
	return files.Open(fresh)
}
