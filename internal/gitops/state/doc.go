// Package state returns what a working tree and commits contain, as values that are compared by content and never
// by the index: snapshots, changes since one, patches of changes, and states that are saved beside the
// repository ([Checkpoints]), which can be restored. A [Reader] reads all of it.
//
// It makes no commits, branches and worktrees, does not follow renames, and leaves submodules as they are.
// What a commit can't have is in the list [ChangeSet.Refused]. A state in which a file has a known secret is not saved.
package state
