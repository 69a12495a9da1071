// Package repolist reads the repositories of a manifest or a task: paths, URLs, files that list them, globs and sources on
// forges, each with its position, its identity and a name that no other one has. It opens and fetches none of them, and asks no
// forge: what a source lists is given.
package repolist
