// Package pass makes one pass over the open pull requests of saved runs: it reads them, lets package follow decide, and rebases,
// continues sessions or leaves them to people. It decides nothing itself, and waits for no later pass.
package pass
