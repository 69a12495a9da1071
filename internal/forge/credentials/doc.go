// Package credentials selects the credentials for git remotes and the APIs of their
// servers: those of a manifest's forges, else tokens and keys of a given environment,
// for which it determines the servers that they are for.
// It finds the credentials that a CI checkout leaves in a repository's git
// configuration, and hides them while agents work. It sends nothing but requests that
// create tokens of GitHub Apps.
package credentials
