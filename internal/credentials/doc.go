// Package credentials decides which credentials git remotes get. It reads tokens
// and keys from the environment that it is given, and knows which servers they are
// for. It finds the credentials that a CI's checkout leaves in the git configuration
// of a repository, and hides them from agents while these work. It sends none.
package credentials
