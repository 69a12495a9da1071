// Package permission decides whether a tool call is allowed. It is pure: no
// state, no input or output, no clock; a decision follows from the profile and
// the request alone, and deny is the zero value of everything.
//
// The rules have OpenCode's format and meaning: a profile holds one ordered
// list, each rule names a permission (edit, bash, ...) and a pattern, both may
// hold wildcards, and the last rule that matches decides. They differ in three
// points, because nobody is there to be asked: there is no "ask"; no matching
// rule means deny; and a rule for the permission "*" never reaches outside the
// workspace or into .git.
//
// Finding out what a call needs (which files a command line touches, where a
// link leads) is the tools' part; see the packages tools and tools/shell.
package permission
