// Package search finds files by name (Glob), lines by regular expression
// (Grep), and draws the tree of a directory (List). It is what the tools of these
// names are made of.
//
// All three walk one directory of an os.Root, so that no link and no ".." leads
// out of it. Links are not followed and not searched, as by ripgrep. Files of
// git (.git in any letter case, at any depth) and the root's .millhand are
// never shown; hidden files are. Each directory's .gitignore counts, whether or not
// there is a repository, and unlike ripgrep's a glob never brings back what it
// excludes. The .ignore and .rgignore files of other search programs don't. As for git, a file
// is ignored if rules exclude it and it is not tracked. Ignored files are counted in Skipped. If
// all files below a directory are ignored, and it is named as the base, they are searched.
//
// Directories are walked and files are searched by as many goroutines as there are
// processors to run them; all of them have ended when a call returns. Results
// do not depend on their order: everything is found first, then sorted, then
// cut at the limit. What could not be read is counted in Skipped.
//
// A Cache makes further searches of a tree cheaper: a directory is not listed and a file
// not opened again while its version (device, inode, size, times) shows that it is unchanged and
// what is known of it shows that it can't match. Ignore files are always read.
//
// The package does not decide what may be shown (Scope.Visible does), and does not
// read git's configuration.
package search
