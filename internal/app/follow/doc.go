// Package follow decides what millhand follow does with an open pull request: it applies the
// job's commits to the current base, continues the job's session, or leaves the pull request to
// people. It is pure. Texts of logs and comments never decide anything: they only become data in
// a prompt.
//
// What earlier passes did is in [State], which a comment on the pull request stores.
package follow
