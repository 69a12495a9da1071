// Package pathtree compares paths by their names. It does not access the file system:
// the caller resolves symlinks.
package pathtree

import (
	"path/filepath"
	"strings"
)

// Within reports whether an absolute path is a directory or below it. It is false if
// either path is not absolute.
func Within(path, dir string) bool {
	path, dir = filepath.Clean(path), filepath.Clean(dir)
	below, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	return ok && filepath.IsAbs(dir) && (below == "" || below[0] == '/')
}
