// Package credentials selects the credentials for git remotes. It reads tokens
// and keys from a given environment and determines which servers they are for.
// It finds the credentials that a CI checkout leaves in a repository's git
// configuration, and hides them while agents work. It does not send any.
package credentials
