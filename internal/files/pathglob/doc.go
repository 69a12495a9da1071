// Package pathglob has the patterns for paths that manifests, policies, repositories and models write: "*", "?",
// "[a-z]" and "{a,b}" in the name of a file or a directory, and "**" for any number of directories. The patterns
// of gitignore files are not among them: package ignore has those.
//
// Whoever writes a pattern may be hostile, so that everything is bounded. Braces are expanded
// once, by [Expand], which limits the work as well as the result; a pattern without braces is
// matched in time that is polynomial in its length and that of the name; a search of the file
// system visits a limited number of files, and stops when its context ends.
package pathglob
