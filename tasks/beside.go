package tasks

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/files/userfile"
)

// pathWord is a word of a command line that may be a path: in any quotes, because a
// path of these characters means the same in all of them.
var pathWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|[\s"'=;|&(<>])(/?[\w.+-]+(?:/[\w.+-]+)+)`) })

var plainPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w.+/-]+$`) })

// Beside is what commands of a manifest can name next to it. The zero value is nothing.
type Beside struct {
	Dir  string // of the manifest; "" for nothing
	Home string // of the user
}

// Readable is what commands can read because they name it.
type Readable struct {
	Path   string
	Hidden []string // in Path: files that may have secrets, unless they are the Path of another
}

// ResolveBeside replaces, in the setup and verify commands, relative paths of files next
// to the manifest that the workspace lacks by absolute ones, and returns what the commands
// can read for it. It is called before a command of the job has run.
func (j *Job) ResolveBeside(workspace string) []Readable {
	var all []Readable
	look := func(line string) string {
		line, readable := j.Beside.resolve(line, []Repo{j.Repo}, func(path string) bool { return exists(workspace, path) })
		all = append(all, readable...)
		return line
	}
	j.Setup, j.Verify = slices.Clone(j.Setup), slices.Clone(j.Verify)
	for i := range j.Setup {
		j.Setup[i] = look(j.Setup[i])
	}
	for i := range j.Verify {
		j.Verify[i].Run = look(j.Verify[i].Run)
	}
	return all
}

// ResolveProgram returns a program and its arguments, in which a shell's command line is
// resolved, and what it can read. It may serve jobs of several repositories.
func (b Beside) ResolveProgram(command []string, jobs []Job) (resolved []string, all []Readable) {
	var repos []Repo
	for _, j := range jobs {
		repos = append(repos, j.Repo)
	}
	resolved = slices.Clone(command)
	shell := len(command) == 3 && command[0] == "bash" && command[1] == "-c"
	for i, word := range command {
		line, readable := b.resolve(word, repos, func(path string) bool {
			return slices.ContainsFunc(repos, func(r Repo) bool { return exists(r.Dir, path) })
		})
		all = append(all, readable...)
		if shell {
			resolved[i] = line
		}
	}
	program := resolved[0]
	if info, err := os.Stat(program); err == nil && filepath.IsAbs(program) && len(all) == 0 && b.Dir != "" { // elsewhere, or hidden by its name
		all = b.readable(program, info, false)
	}
	return resolved, all
}

// resolve returns a command line with absolute paths for the files next to the manifest
// that it names, and what it can read there. A relative path is one of the workspace if
// that has it, or if the manifest is in the repository.
func (b Beside) resolve(line string, repos []Repo, has func(path string) bool) (resolved string, readable []Readable) {
	if b.Dir == "" {
		return line, nil
	}
	within := slices.ContainsFunc(repos, b.within)
	resolved = pathWord().ReplaceAllStringFunc(line, func(match string) string {
		groups := pathWord().FindStringSubmatch(match)
		path := groups[2]
		if !filepath.IsAbs(path) {
			if within || !plainPath().MatchString(b.Dir) || has(path) {
				return match
			}
			path = filepath.Join(b.Dir, path)
		}
		path = filepath.Clean(path)
		info, err := os.Stat(path)
		if err != nil || path == b.Dir || !pathtree.Within(path, b.Dir) || b.isSecret(path, info) {
			return match
		}
		readable = append(readable, b.readable(path, info, within)...)
		return groups[1] + path
	})
	return resolved, readable
}

// within reports whether the manifest is in the user's own tree of a repository.
func (b Beside) within(r Repo) bool {
	top := r.Dir
	if r.Kind == RepoPath && top != "" {
		top = TopOf(userfile.Real(r.Dir))
	}
	return top != "" && (pathtree.Within(b.Dir, top) || pathtree.Within(userfile.Real(b.Dir), top))
}

// readable returns what a command that names a path can read: the directory that has the
// file, because scripts use files next to them, without files that may have secrets. In
// the user's own tree and home directory that could be anything: only what is named. A
// program is readable although it is hidden where others are named.
func (b Beside) readable(path string, info fs.FileInfo, within bool) []Readable {
	if within || info.Mode().IsRegular() && b.Home != "" && pathtree.Within(b.Home, filepath.Dir(path)) {
		return []Readable{{Path: path}}
	}
	var all []Readable
	dir := path
	if info.Mode().IsRegular() {
		dir = filepath.Dir(path)
	}
	hidden, ok := secretsIn(dir)
	if ok {
		all = append(all, Readable{dir, hidden})
	}
	executable := info.Mode().IsRegular() && info.Mode()&0o111 != 0
	if (!ok || slices.Contains(hidden, path)) && (executable || isProgram(path, info)) {
		all = append(all, Readable{Path: path})
	}
	return all
}

// secretName matches the names of files that usually have secrets; secretWord those that
// programs have as well, such as scan_secrets.sh.
var (
	secretName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(\..*|id_.*|.*\.(pem|key|p12|pfx|kdbx|env))$`) })
	secretWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)secret|credential|password|token`) })
)

// isSecret reports whether a named path, or a directory on the way to it, has a name as
// secrets have.
func (b Beside) isSecret(path string, info fs.FileInfo) bool {
	names := strings.Split(strings.TrimPrefix(path, b.Dir+"/"), "/")
	if slices.ContainsFunc(names, secretName().MatchString) {
		return true
	}
	if isProgram(path, info) {
		names = names[:len(names)-1]
	}
	return slices.ContainsFunc(names, secretWord().MatchString)
}

// isProgram reports whether a file is a script that names its interpreter, or a program of
// this system.
func isProgram(path string, info fs.FileInfo) bool {
	if !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	start := make([]byte, 4)
	n, _ := io.ReadFull(f, start) // a shorter file has no magic number
	return bytes.HasPrefix(start[:n], []byte("#!")) || string(start[:n]) == "\x7fELF"
}

// maxBeside is the number of files next to a named one that are examined, and maxHidden of
// those that are hidden.
const (
	maxBeside = 20_000
	maxHidden = 500
)

// secretsIn returns the files and directories that are hidden by their name, have one as
// secrets have, or that not every user can read; false if there are too many files.
func secretsIn(dir string) (hidden []string, ok bool) {
	n, root := 0, userfile.Real(dir)                                           // WalkDir does not follow a symlink
	filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error { //nolint:errcheck // what can't be read needs no protection
		if n++; n > maxBeside || len(hidden) > maxHidden {
			return filepath.SkipAll
		}
		if err == nil && path != root && looksSecret(e, path) {
			hidden = append(hidden, dir+strings.TrimPrefix(path, root))
			if e.IsDir() {
				return fs.SkipDir
			}
		}
		return nil
	})
	return hidden, n <= maxBeside && len(hidden) <= maxHidden
}

// installed matches paths of files that package managers install: published modules such as
// js-tokens have names as secrets have.
var installed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/(node_modules|site-packages)/`) })

// looksSecret reports whether an entry, given with its path, has a name as secrets have, or can't be
// read by every user.
func looksSecret(e fs.DirEntry, path string) bool {
	if secretName().MatchString(e.Name()) || secretWord().MatchString(e.Name()) && !installed().MatchString(path) {
		return true
	}
	info, err := e.Info()
	return err == nil && e.Type()&fs.ModeSymlink == 0 && info.Mode()&0o004 == 0
}

// exists reports whether a directory has a path; false for no directory.
func exists(dir, path string) bool {
	if dir == "" || strings.HasPrefix(filepath.Clean(path), "..") {
		return false
	}
	_, err := os.Lstat(filepath.Join(dir, path))
	return err == nil
}
