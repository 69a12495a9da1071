package permission

import (
	"errors"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/files/pathglob"
)

// A deny rule for "edit" also matches the other spellings of a path: those that
// a file system of macOS or Windows treats as the same name. A commit is
// checked out on other machines, where such a name is the denied file.

// fold returns a path as the file systems of macOS and Windows compare it,
// ignoring case: without the characters that HFS+ ignores, and in each name
// without NTFS streams (file::$DATA) and trailing dots and spaces. Folding the
// result again changes nothing.
func fold(name string) string {
	if isUsual(name) {
		return strings.ToUpper(name)
	}
	elements := strings.Split(strings.ReplaceAll(name, `\`, "/"), "/")
	for i, e := range elements {
		e = strings.Map(foldRune, e)
		if e == "." || e == ".." {
			continue
		}
		e, _, _ = strings.Cut(e, ":")
		elements[i] = strings.TrimRight(e, " .")
	}
	return strings.Join(elements, "/")
}

// isUsual reports whether fold changes nothing but the case of ASCII letters.
func isUsual(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= utf8.RuneSelf, c == '\\', c == ':', c == ' ':
			return false
		case c == '.' && (i+1 == len(name) || name[i+1] == '/'):
			return false
		}
	}
	return true
}

// foldRune returns the character that represents all that differ from r only by
// case; -1 for those that HFS+ ignores.
func foldRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return r - 'a' + 'A'
	case r < 0x80:
		return r
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return -1
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// foldPattern folds the case of a pattern.
func foldPattern(pattern string) string { return strings.Map(foldRune, pattern) }

// lengthened replaces the 8.3 names (GITHUB~1) in a folded path by the names in
// a folded pattern that NTFS may have given them for.
func lengthened(name, pattern string) string {
	if !strings.Contains(name, "~") {
		return name
	}
	elements := strings.Split(name, "/")
	for i, e := range elements {
		for long := range strings.SplitSeq(pattern, "/") {
			if isShort(e, long) {
				elements[i] = long
				break
			}
		}
	}
	return strings.Join(elements, "/")
}

// isShort reports whether a name may be the 8.3 name of a longer one: its first
// six characters without dots and spaces, or its first two and a checksum of
// four digits, then a tilde and a number, and three characters of the extension.
func isShort(short, long string) bool {
	if strings.ContainsAny(long, "*?[{") {
		return false
	}
	long = strings.TrimLeft(long, ". ")
	base, ext := long, ""
	if dot := strings.LastIndexByte(long, '.'); dot >= 0 {
		base, ext = long[:dot], long[dot+1:]
	}
	base, ext = strings.NewReplacer(".", "", " ", "").Replace(base), ext[:min(3, len(ext))]
	stem, shortExt, _ := strings.Cut(short, ".")
	stem, number, ok := strings.Cut(stem, "~")
	if !ok || shortExt != ext || number == "" || strings.Trim(number, "0123456789") != "" || stem == "" {
		return false
	}
	if len(stem) == 6 && len(base) >= 2 && stem[:2] == base[:2] && strings.Trim(stem[2:], "0123456789ABCDEF") == "" {
		return true
	}
	return strings.HasPrefix(base, stem) && (len(stem) == min(6, len(base)) || len(stem)+1+len(number) == 8)
}

// foldedRule is a deny rule of files with its folded pattern.
type foldedRule struct {
	pattern  string
	protects bool
	glob     pathglob.Pattern // of a rule that protects
	absolute bool             // the glob matches only absolute paths, otherwise only relative ones
	all      bool             // the glob exceeds the limits of globs, and so protects everything
}

func foldRule(r *Rule) foldedRule {
	f := foldedRule{pattern: foldPattern(r.Pattern), protects: r.Protects}
	if !f.protects {
		return f
	}
	glob := strings.TrimSuffix(strings.TrimPrefix(f.pattern, "./"), "/")
	var err error
	f.glob, err = pathglob.Parse(glob) // an invalid one matches nothing
	f.absolute, f.all = path.IsAbs(glob), errors.Is(err, pathglob.ErrTooMany)
	return f
}

// matches reports whether the rule matches one of the folded names of a file.
func (f *foldedRule) matches(names []string) bool {
	for _, name := range names {
		name = lengthened(name, f.pattern)
		if f.protects && f.protect(name) || !f.protects && Match(f.pattern, name) {
			return true
		}
	}
	return false
}

// protect reports whether the glob matches a path or a directory that it is in.
func (f *foldedRule) protect(name string) bool {
	name = strings.TrimSuffix(name, "/")
	return f.all || name != "" && name != "." && f.absolute == path.IsAbs(name) && f.glob.Covers(name)
}

// literalOf returns text that each path contains that a glob of files matches, or that is below one
// that it matches: the longest element of the glob of plain ASCII characters; "" if none is known.
func literalOf(glob string) (longest string) {
	special := func(r rune) bool { return r == '*' || r == '?' || r >= utf8.RuneSelf }
	if strings.ContainsAny(glob, `[{\`) {
		return ""
	}
	for element := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(glob, "./"), "/"), "/") {
		if len(element) > len(longest) && !strings.ContainsFunc(element, special) {
			longest = element
		}
	}
	return longest
}
