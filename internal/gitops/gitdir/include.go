package gitdir

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/ignore"
)

const (
	includeDepth = 10    // git's own limit of nested includes
	includeFiles = 1_000 // files that one configuration may consist of: a few files can include one another billions of times
)

// includer reads configuration files together with the files that include.path and
// includeIf name, as git does (git-config, "Includes").
type includer struct {
	home   string // for "~/" in paths; "" if unknown
	gitDir string // for the conditions gitdir and gitdir/i; absolute, symlinks resolved
	branch string // for the condition onbranch; "" if HEAD is detached
	// urls are those of all remotes, for the condition hasconfig; nil until they are
	// known, when the condition does not hold.
	urls []string

	asksForURLs bool // a condition on them was met
	files       int  // that were read
}

// read reads a file and what it includes, in the order of git: included values stand
// where the include does. A missing file is empty.
func (r *includer) read(name string) (ConfigFile, error) {
	var c ConfigFile
	err := r.decode(&c, name, 0)
	if sharedfile.Absent(err) {
		err = nil
	}
	return c, err
}

// decode adds the options of a file to those that were read before.
func (r *includer) decode(c *ConfigFile, name string, depth int) error {
	if depth > includeDepth {
		return fmt.Errorf("include git configuration %s: maximum include depth (%d) exceeded", name, includeDepth)
	}
	if r.files++; r.files > includeFiles {
		return fmt.Errorf("include git configuration %s: maximum number of files (%d) exceeded", name, includeFiles)
	}
	data, err := sharedfile.Read(name)
	if err != nil {
		return fmt.Errorf("read git configuration: %w", err)
	}
	err = parseOptions(data, func(o option) error {
		c.options = append(c.options, o)
		included := r.included(name, o)
		if included == "" {
			return nil
		}
		err := r.decode(c, included, depth+1)
		if sharedfile.Absent(err) {
			return nil // as in git
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read git configuration %s: %w", name, err)
	}
	return nil
}

// included returns the file that an option of a file includes; "" if it includes none.
func (r *includer) included(name string, o option) string {
	value := o.value
	switch {
	case o.key != "path" || value == "":
		return ""
	case o.section == "include" && o.subsection == "":
	case o.section == "includeif" && r.holds(name, o.subsection):
	default:
		return ""
	}
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		if r.home == "" {
			return ""
		}
		return filepath.Join(r.home, rest)
	}
	if !filepath.IsAbs(value) {
		return filepath.Join(filepath.Dir(resolved(name)), value)
	}
	return value
}

// holds evaluates the condition of an includeIf section in a file.
func (r *includer) holds(name, condition string) bool {
	kind, pattern, _ := strings.Cut(condition, ":")
	if rest, ok := strings.CutPrefix(condition, "hasconfig:remote.*.url:"); ok {
		kind, pattern = "hasconfig", rest
	}
	switch kind {
	case "gitdir":
		return ignore.Match(r.dirPattern(name, pattern), r.gitDir)
	case "gitdir/i":
		return ignore.Match(strings.ToLower(r.dirPattern(name, pattern)), strings.ToLower(r.gitDir))
	case "onbranch":
		if strings.HasSuffix(pattern, "/") {
			pattern += "**"
		}
		return r.branch != "" && ignore.Match(pattern, r.branch)
	case "hasconfig":
		r.asksForURLs = true
		for _, url := range r.urls {
			if ignore.Match(pattern, url) {
				return true
			}
		}
	}
	return false
}

// dirPattern completes the pattern of a condition on the git directory.
func (r *includer) dirPattern(name, pattern string) string {
	switch rest, home := strings.CutPrefix(pattern, "~/"); {
	case home && r.home == "":
		return ""
	case home:
		pattern = resolved(r.home) + "/" + rest
	case strings.HasPrefix(pattern, "./"):
		pattern = filepath.Dir(resolved(name)) + pattern[1:]
	case !filepath.IsAbs(pattern):
		pattern = "**/" + pattern
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	return pattern
}

// resolved returns a path without symlinks, or the path itself if it can't be had.
func resolved(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return name
}

// readConfig reads the configuration of the machine, the user and the repository, the
// weakest first, each file with what it includes.
func (at location) readConfig(env Env) (ConfigFiles, error) {
	r := includer{home: env.Home, gitDir: at.gitDir, branch: currentBranch(at.gitDir)}
	files, err := r.readAll(env, at)
	if err != nil || !r.asksForURLs {
		return files, err
	}
	for _, name := range files.subsections("remote") {
		r.urls = append(r.urls, files.Values("remote", name, "url")...)
	}
	r.files = 0
	return r.readAll(env, at)
}

func (r *includer) readAll(env Env, at location) (ConfigFiles, error) {
	var files ConfigFiles
	for _, name := range configNames(env) {
		f, err := r.read(name)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	local, err := readLocal(at.gitDir, at.commonDir, r.read)
	return append(files, local), err
}

// currentBranch returns the branch that HEAD names, which may be unborn; "" if HEAD is
// detached or can't be read.
func currentBranch(gitDir string) string {
	target, _, err := (&Dir{Own: gitDir}).ReadHead()
	if err != nil || !strings.HasPrefix(target, BranchPrefix) {
		return ""
	}
	return target[len(BranchPrefix):]
}
