// Package publish pushes the commit of a job with a lease, to the repository or a fork of it, and creates or updates its
// pull request, which it finds by its branch, with comments and annotations. What depends on other jobs is added to its
// description later (package pulls). Where a forge shall sign the commit, it is created by the forge's API, compared
// with the original, and put on the local branch ([Signing]). [Requests] makes the changes of a forge that an agent has
// requested and the task allows: packages delivery and savedjob pass what package requests has decided, and this
// package does not import it. A missing fork is created when the commit is pushed. The package decides neither what
// is committed nor whether to publish: a run publishes its jobs with it (package delivery), and so does
// "millhand publish" later (package savedjob).
//
// Each push, pull request, comment and request is announced by an event before it happens, and reported by another one.
// Comments on lines are only reported, with the comment, and [Annotate] emits no event.
package publish
