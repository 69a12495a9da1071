// Package ignore decides which paths gitignore files exclude. It is pure: the
// caller reads the files, walks the tree from its root downwards and asks
// about each path before it goes into it.
//
// The rules are git's (gitignore(5), and for what the manual leaves open the
// behaviour of git itself since version 2.41): a file's last matching pattern
// decides, the file of a deeper directory goes before those above it, and
// patterns that are malformed match nothing. Matching is by byte and
// case-sensitive, and its cost is bounded by the product of the lengths of
// pattern and path, whatever the pattern holds.
//
// The package does not find ignore files, does not read git's configuration
// (core.excludesFile, info/exclude) and does not know which files are tracked.
package ignore
