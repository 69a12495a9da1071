// Package workspace handles every path that a file tool accesses. It resolves a
// path as the kernel would, reports whether it is inside the workspace, and
// opens, reads and replaces files relative to an os.Root, so that no "..",
// symlink or race escapes. It records which file versions a session has read
// and written, to detect changes by others.
//
// It makes no permission decisions; callers check the rules before.
package workspace
