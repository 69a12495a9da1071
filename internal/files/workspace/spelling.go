package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Spelled returns the path that is meant by a path from a model or a prompt, for Resolve. A name
// that exists is returned unchanged. "~" is the directory home, which is "" if unknown. A name equal to
// one existing name after normalization (NFC, with plain spaces) is that one. It fails if a name
// that does not exist was probably not meant: a URL, a variable, a path of Windows, quotes,
// control characters. The error has the path to use instead.
func (w *Workspace) Spelled(name, home string) (string, error) {
	if rest, ok := strings.CutPrefix(name, "~"); ok && (rest == "" || rest[0] == '/') {
		if home == "" {
			return "", fmt.Errorf("path %s: the home directory is unknown, because HOME is not set; use an absolute path", name)
		}
		name = home + rest
	}
	full := name
	if !filepath.IsAbs(name) {
		full = w.dir + "/" + name
	}
	const exists = 0
	if syscall.Access(full, exists) == nil {
		return name, nil // usual, and without further work
	}
	s := spelling{name: name, dir: w.dir}
	err := s.resolve()
	switch {
	case err != nil:
		return "", err
	case s.changed:
		return strings.Join(append([]string{s.at}, s.missing...), "/"), nil
	}
	return name, nil
}

// spelling is a path whose first names exist.
type spelling struct {
	name    string
	dir     string   // the workspace
	at      string   // what exists, an absolute path; "" is the root
	missing []string // the names below it
	changed bool     // a name in at is spelled differently
}

// resolve finds what exists, and checks what does not.
func (s *spelling) resolve() error {
	s.missing = strings.Split(s.name, "/")
	if !filepath.IsAbs(s.name) {
		s.at = s.dir
	} else if below, ok := strings.CutPrefix(s.name, s.dir+"/"); ok {
		s.at, s.missing = s.dir, strings.Split(below, "/")
	}
	for len(s.missing) > 0 {
		name := s.missing[0]
		if name != "" {
			_, err := os.Lstat(s.at + "/" + name)
			if errors.Is(err, fs.ErrNotExist) {
				name, err = s.twin(name)
			}
			switch {
			case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
				return s.check()
			case errors.Is(err, errAmbiguous):
				return err
			case err != nil:
				return nil //nolint:nilerr // using the path fails with the same error
			}
			s.changed = s.changed || name != s.missing[0]
			s.at += "/" + name
		}
		s.missing = s.missing[1:]
	}
	return nil
}

// errAmbiguous is the error for a name that several files have after normalization.
var errAmbiguous = errors.New("ambiguous name")

// twin returns the name in the directory that is equal to a missing one after normalization.
func (s *spelling) twin(name string) (string, error) {
	plain := func(r rune) bool { return r < unicode.MaxASCII && r != ' ' }
	if strings.IndexFunc(name, func(r rune) bool { return !plain(r) }) < 0 {
		return "", fs.ErrNotExist // no other name is equal to it
	}
	dir, err := os.Open(s.at + "/")
	if err != nil {
		return "", fs.ErrNotExist
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // as far as it can be read
	want := normalized(name)
	names = slices.DeleteFunc(names, func(other string) bool { return normalized(other) != want })
	switch {
	case len(names) == 1:
		return names[0], nil
	case len(names) > 1 && (s.at+"/" == s.dir+"/" || strings.HasPrefix(s.at, s.dir+"/")):
		slices.Sort(names)
		return "", fmt.Errorf("%w: %q can be %+q or %+q, which look the same; use the exact characters of one", errAmbiguous, name, names[0], names[1])
	}
	return "", fs.ErrNotExist
}

// normalized returns a name in the form in which names that look the same are equal.
func normalized(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Zs, r) {
			return ' '
		}
		return r
	}, norm.NFC.String(name))
}

// Forms of names that are meant differently, at the start of a path.
var (
	urlForm      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?i)(file:|[a-z][a-z0-9+.-]+:/)`) })
	driveForm    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z]:([/\\]|$)`) })
	variableForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("^(\\$[A-Za-z_][A-Za-z0-9_]*|\\$\\{[^{}/]*\\}|%[A-Za-z_][A-Za-z0-9_()]*%|\\$(?i:env):[A-Za-z_][A-Za-z0-9_]*|\\$\\([^/]*\\)|`[^/`]*`)([/\\\\]|$)")
	})
	userForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^~[A-Za-z0-9_.+-]*(/|$)`) })
)

// check returns an error if the missing names are probably meant differently.
func (s *spelling) check() error {
	rest := strings.Join(s.missing, "/")
	first := (s.at == s.dir || s.at == "") && !strings.HasPrefix(s.name, "./")
	var names []string
	for _, name := range s.missing {
		names = append(names, strings.TrimSpace(name))
	}
	trimmed := strings.Join(names, "/")
	switch {
	case trimmed != rest:
		return s.instead("has white space at the start or end of a name", trimmed)
	case quoted(rest):
		return s.instead("is in quotes", rest[1:len(rest)-1])
	case strings.IndexFunc(rest, unicode.IsControl) >= 0:
		return fmt.Errorf("path %q contains a control character; use a name without", s.name)
	case first && urlForm().MatchString(rest):
		return s.checkURL(rest)
	case first && driveForm().MatchString(rest):
		return fmt.Errorf("path %q is a path of Windows; use one relative to the workspace, with / between names", s.name)
	case first && variableForm().MatchString(rest):
		return s.checkVariable(rest)
	case first && rest[0] == '~' && userForm().MatchString(rest):
		return fmt.Errorf("path %q: only ~/ at the start of a path is expanded, to the home directory; use an absolute path, or ./%s for a file of this name", s.name, rest)
	case strings.Contains(rest, `\`):
		return s.checkBackslash(rest)
	case first && rest[0] == '@' && s.hasFirst(rest[1:]): // the mark of a reference in a prompt
		return s.instead("starts with @", rest[1:])
	}
	return nil
}

// instead is the error for a path, with the names to use instead of the missing ones.
func (s *spelling) instead(what, names string) error {
	return fmt.Errorf("path %q %s; use %q", s.name, what, s.join(names))
}

// join returns the path of names below what exists, relative to the workspace if it is in it.
func (s *spelling) join(names string) string {
	if path.IsAbs(names) || strings.HasPrefix(names, "~") {
		return names
	}
	below, ok := strings.CutPrefix(s.at+"/"+names, s.dir+"/")
	if !ok {
		return s.at + "/" + names
	}
	return below
}

func (s *spelling) has(names string) bool {
	_, err := os.Lstat(s.at + "/" + names)
	return err == nil
}

// hasFirst reports whether the first of the names exists.
func (s *spelling) hasFirst(names string) bool {
	name, _, _ := strings.Cut(names, "/")
	return name != "" && s.has(name)
}

func quoted(name string) bool {
	return len(name) > 2 && name[0] == name[len(name)-1] && strings.ContainsRune("\"'`", rune(name[0]))
}

func (s *spelling) checkURL(rest string) error {
	scheme, plain, _ := strings.Cut(rest, ":")
	if !strings.EqualFold(scheme, "file") {
		return fmt.Errorf("path %q is a URL; file tools need the path of a file", s.name)
	}
	if host, ok := strings.CutPrefix(plain, "//"); ok && !strings.HasPrefix(host, "/") && !s.has(host) {
		_, below, _ := strings.Cut(host, "/")
		plain = "/" + below
	} else if ok && !strings.HasPrefix(host, "/") {
		plain = host
	}
	plain = strings.TrimPrefix(plain, "//")
	if decoded, err := url.PathUnescape(plain); err == nil {
		plain = decoded
	}
	return s.instead("is a URL", plain)
}

func (s *spelling) checkVariable(rest string) error {
	variable := strings.TrimRight(variableForm().FindString(rest), `/\`)
	below := strings.ReplaceAll(strings.TrimLeft(rest[len(variable):], `/\`), `\`, "/")
	var use string
	switch strings.ToUpper(strings.Trim(variable, "${}%()`")) {
	case "HOME", "USERPROFILE", "ENV:USERPROFILE", "ENV:HOME":
		use = path.Join("~", below)
	case "PWD", "CWD", "WORKSPACE", "ENV:PWD":
		use = path.Join(".", below)
	default:
		use = "the path that it stands for"
	}
	return fmt.Errorf("path %q starts with the variable %s, which file tools do not expand; use %s, or ./%s for a file of this name", s.name, variable, use, rest)
}

func (s *spelling) checkBackslash(rest string) error {
	if plain := escapes().ReplaceAllString(rest, "$1"); s.has(plain) {
		return s.instead("contains a backslash", plain)
	}
	return s.instead("contains a backslash", strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(rest, `\`, "/")), "/"))
}

// escapes are characters that a shell needs a backslash before.
var escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\([^A-Za-z0-9/\\])`) })
