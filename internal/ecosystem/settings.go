package ecosystem

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission/reach"
)

// Settings is what commands need to download dependencies from the registries that the
// user's own configuration names. It has no credentials: user names, passwords and queries
// are removed from URLs.
type Settings struct {
	Hosts []string          // in the format of a profile's network, sorted
	Dirs  []string          // registries that are directories, named by file: URLs
	Env   []string          // NAME=value, of variables that tools read
	Files map[string]string // by path relative to HOME, for settings without a variable
}

// Configured returns the settings of ecosystems, by their names. It reads the user's
// variables and the settings files of the tools in the user's home; registries without
// a setting are the public ones. An error has the files that could not be read, and is
// returned with the settings of all others.
func Configured(names []string, getenv func(string) string) (Settings, error) {
	c := &configuration{getenv: getenv, home: getenv("HOME"), files: map[string]string{}}
	read := map[string]bool{}
	for _, e := range All() {
		if slices.Contains(names, e.Name) {
			c.add(e, read)
		}
	}
	slices.Sort(c.hosts)
	return Settings{Hosts: slices.Compact(c.hosts), Dirs: c.dirs, Env: c.env, Files: c.files}, errors.Join(c.problems...)
}

// configuration is the settings while they are read.
type configuration struct {
	getenv   func(string) string
	home     string
	hosts    []string
	dirs     []string
	env      []string
	files    map[string]string
	problems []error
}

// add adds the settings of an ecosystem; read has those whose settings were read.
func (c *configuration) add(e Ecosystem, read map[string]bool) {
	reader, name := (*configuration).public, e.Name
	switch e.Name {
	case "go":
		reader = (*configuration).goProxies
	case "npm", "pnpm", "yarn":
		reader, name = (*configuration).npmRegistries, "npm"
	case "pip":
		reader = (*configuration).pipIndexes
	case "uv":
		reader = (*configuration).uvIndexes
	case "cargo":
		reader = (*configuration).cargoSources
	case "maven":
		reader = (*configuration).mavenMirrors
	}
	if !read[name] {
		read[name] = true
		reader(c, e.Registry)
	}
}

// public adds the public registries by the names of their hosts: a network may resolve those
// to a mirror at an address of its own.
func (c *configuration) public(group string) {
	c.hosts = append(c.hosts, reach.Expand([]string{group})...)
}

// registry adds the host of a registry's URL, and returns the URL without credentials.
// A URL that is not on a server has no host, but possibly a directory; false if it is invalid.
func (c *configuration) registry(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", false
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	scheme := strings.TrimPrefix(u.Scheme, "sparse+")
	port := map[string]string{"https": "443", "http": "80"}[scheme]
	if u.Scheme == "file" && filepath.IsAbs(u.Path) && (u.Host == "" || u.Host == "localhost") {
		c.dirs = append(c.dirs, filepath.Clean(u.Path))
	}
	if port == "" || u.Hostname() == "" {
		return u.String(), u.Scheme == "file"
	}
	if u.Port() != "" {
		port = u.Port()
	}
	host := net.JoinHostPort(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), port)
	if _, err := reach.Parse([]string{host}, false); err != nil || strings.Contains(host, "*") {
		return "", false
	}
	c.hosts = append(c.hosts, host)
	return u.String(), true
}

// set adds a variable.
func (c *configuration) set(name, value string) { c.env = append(c.env, name+"="+value) }

// first returns the first of several variables that is set.
func (c *configuration) first(names ...string) string {
	for _, name := range names {
		if v := c.getenv(name); v != "" {
			return v
		}
	}
	return ""
}

// maxSettings is the maximum size of a settings file in bytes.
const maxSettings = 1 << 20

// file returns the text of a settings file, "" if it does not exist. A relative path is
// below HOME.
func (c *configuration) file(path string) string {
	if !filepath.IsAbs(path) {
		if !filepath.IsAbs(c.home) {
			return ""
		}
		path = filepath.Join(c.home, path)
	}
	text, err := readRegular(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.problems = append(c.problems, fmt.Errorf("read the settings of package managers: %w", err))
	}
	return text
}

func readRegular(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", nil // such as /dev/null
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if len(text) > maxSettings {
		return "", fmt.Errorf("%s is larger than %d bytes", path, maxSettings)
	}
	return string(text), err
}

// configDir returns the user's directory of settings, relative to HOME if it is below it.
func configDir(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return ".config"
}

// assignments returns the KEY=value pairs of a text, one in a line, without spaces and
// quotes around both. Lines that start with # or ; are comments. The section of a key,
// if the text has sections, is before it: [section] makes "section.key".
func assignments(text string) (keys []string, values map[string]string) {
	values = map[string]string{}
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			if end := strings.LastIndexByte(line, ']'); end > 0 {
				section = unquoted(strings.Trim(line[1:end], "[] \t")) + "."
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		key = section + unquoted(strings.TrimSpace(key))
		if _, twice := values[key]; !twice {
			keys = append(keys, key)
		}
		values[key] = unquoted(strings.TrimSpace(value))
	}
	return keys, values
}

// unquoted removes quotes around a text, and a comment after them.
func unquoted(s string) string {
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return s
	}
	if end := strings.IndexByte(s[1:], s[0]); end >= 0 {
		return s[1 : 1+end]
	}
	return s
}
