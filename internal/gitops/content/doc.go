// Package content reads the files of a working tree as git would store them: by the attributes that apply to a
// path, with converted line endings and clean filters. It decides which names and filters a commit can't have. The
// attributes in a commit, whose files no working tree has, are [CommitAttributes]. It compares nothing, gets the sandbox
// of clean commands ([Filters]), and writes no file except those of Git LFS.
package content
