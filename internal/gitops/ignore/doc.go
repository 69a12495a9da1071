// Package ignore decides which paths gitignore files exclude. It is pure: the
// caller reads the files, walks the tree from the root and checks each path
// before entering it.
//
// The rules are git's (gitignore(5), and for what the manual leaves open the
// behaviour of git itself since version 2.41): the last matching pattern of a
// file decides, the file of a deeper directory overrides those above it, and
// malformed patterns match nothing. Matching is by byte and case-sensitive, and
// its cost is bounded by the product of the lengths of pattern and path,
// for any pattern.
//
// The package does not find ignore files, does not read git's configuration
// (core.excludesFile, info/exclude) and does not read the index: [Tracked] is given the
// paths that git tracks.
package ignore
