// Package starter looks at a repository ([Look]: its languages, package managers, and commands that verify it) and makes the
// first files of a user: a manifest that fits, what CI systems need to run it, and a demonstration ([Demo]). It
// writes and runs nothing.
package starter
