package content

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// ReportDirectory is the directory of run reports. It is excluded from changes.
const ReportDirectory = ".millhand"

// Reserved reports whether git rejects a name in a tree on some system: .git in
// any case, with suffixes and characters that Windows and macOS ignore, and its
// short name on Windows.
func Reserved(name string) bool {
	if len(name) < len(".git") {
		return false
	}
	if c := name[0]; c != '.' && c|0x20 != 'g' && c < 0x80 && strings.IndexByte(name, '\\') < 0 {
		return false // most names, without the work below
	}
	for name := range strings.SplitSeq(strings.Map(dropIgnorable, name), `\`) { // a separator on Windows
		name, _, _ = strings.Cut(name, ":")
		name = strings.TrimRight(name, " .")
		if strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1") {
			return true
		}
	}
	return false
}

// dropIgnorable removes the characters that HFS+ ignores in file names.
func dropIgnorable(c rune) rune {
	switch {
	case c >= 0x200c && c <= 0x200f, c >= 0x202a && c <= 0x202e, c >= 0x206a && c <= 0x206f, c == 0xfeff:
		return -1
	}
	return c
}

// AttributesName is the name of attribute files.
const AttributesName = ".gitattributes"

// Outside reports whether a path is always excluded from changes.
func Outside(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if name == ReportDirectory || Reserved(name) {
			return true
		}
	}
	return false
}

// IsPlain reports whether a mode is that of a regular file, which may be executable.
func IsPlain(mode filemode.FileMode) bool {
	return mode == filemode.Regular || mode == filemode.Executable || mode == filemode.Deprecated
}

// CutPath splits a path at its last slash; parent is "" for a path without one.
func CutPath(path string) (parent, name string) {
	at := strings.LastIndexByte(path, '/')
	return path[:max(at, 0)], path[at+1:]
}
