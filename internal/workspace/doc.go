// Package workspace owns every path that a file tool touches. It resolves a
// path as the kernel would, says whether it lies in the workspace, and opens,
// reads and replaces files beneath an os.Root, so that no "..", link or race
// leads out. It remembers what a session has read and written, to notice when
// a file changed in between.
//
// It decides nothing: whether a path may be used is the permission rules'
// matter, asked before.
package workspace
