// Package gitops is what a run knows of git: it opens repositories, mirrors
// remote ones, makes and removes linked worktrees, measures what a job changed,
// writes that change as a patch, commits it and pushes the commit.
//
// The git program runs in two places only: to make a linked worktree before any
// agent has been there, with hooks, filters and transports switched off, and to
// fetch from or push to a directory on this machine (git upload-pack and git
// receive-pack, as for any client; without configuration of machine and user). All
// else is Go on go-git's object store, because a work tree that an agent has
// touched may make git run commands (filters, fsmonitor, hooks). What go-git's
// own porcelain leaves out is done here, as git does it: ignore files, line ending
// attributes, locks, compare-and-swap of references, fsync, and an index that is
// replaced whole.
//
// A change is measured by content against a Snapshot, never against the index:
// whatever the agent staged or committed itself, the commit has the parent that
// the caller names and holds the job's change and nothing else.
//
// Remotes are reached by https, http, ssh and file in this process, by version 0
// of git's protocol, so credentials stay in it. A fetch tells once what is
// here and does not negotiate. A push moves one branch, from the commit that the
// caller expects it to be at, which the server checks when it moves it. What was
// received is seen, and counted on, only once it is complete and its checksum
// was found right; objects that a mirror has are not hashed again later.
//
// The package does not run hooks or filters, does not sign, merge or follow
// renames, does not push tags or delete remote branches, and leaves submodules as
// they are. Repositories that need what it does not do are refused with an
// UnsupportedError: bare ones but for its own mirrors, SHA-256, partial clones,
// reftable, extensions.worktreeConfig, split and sparse indexes. It reads git's
// configuration without include directives, and ssh's not at all.
package gitops
