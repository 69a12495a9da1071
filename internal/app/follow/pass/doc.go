// Package pass makes one pass over the open pull requests of saved runs: it reads them, lets package follow
// decide, and rebases ([runner.Rebase]), continues the job's session by a run (package runs), or sets a label and
// leaves them to people. A comment of the pull request has the state, from which the next pass continues. It
// decides nothing itself, and waits for no later pass.
package pass
