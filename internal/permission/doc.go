// Package permission decides whether a tool call is allowed. It is pure: no
// state, no I/O, no clock. A decision depends only on the profile and the
// request, and deny is the zero value of every type.
//
// The rules have OpenCode's format and meaning: a profile holds one ordered
// list, each rule names a permission (edit, bash, ...) and a pattern, both may
// contain wildcards, and the last matching rule decides. They differ in three
// points, because nobody can be asked in a batch run: "ask" does not exist; no
// matching rule means deny; and a rule for the permission "*" never covers
// paths outside the workspace or in .git.
//
// The packages tools and tools/shell determine what a call needs: which files a
// command line accesses, where a symlink points.
package permission
