// Package starter makes the first files of a user: a manifest that fits a repository, and what CI
// systems need to run it.
package starter
