// Package gitops implements the repository operations of a run: it opens repositories, creates and removes linked
// worktrees, and commits what a job changed. Package state measures the changes, content reads files as git stores them,
// store writes objects, objectdb reads them, gitdir reads and writes the git directory (package sharedfile its single
// files), and remote, which is not used here, mirrors, fetches and pushes. [CopyDirectory] copies a directory without git.
//
// The git program runs here only in worktrees and private checkouts in which no agent has worked, with hooks, filters
// and transports switched off: to make them, to merge a job's commits into a new base ([Merge]) and to apply a saved
// patch ([Repo.Apply]). All other operations are Go on go-git's object store, because a work tree that an agent has
// touched may make git run commands (filters, fsmonitor, hooks). What go-git's own porcelain leaves out is done by these
// packages as git does it: ignore files, line ending attributes, locks, compare-and-swap of references, fsync, and an
// index that is replaced atomically.
//
// A change is measured by content against a Snapshot, never against the index: whatever the agent staged or committed
// itself, the commit has the parent that the caller names and holds the job's change and nothing else.
//
// The package does not run hooks, runs clean filters only in the sandbox of its caller (see content.Filters), and does not sign.
// Changes that need what it does not do are refused with a gitdir.UnsupportedError.
package gitops
