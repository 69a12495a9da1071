package gitdir

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/files/sharedfile"
)

// ConfigFile is one file of git's configuration; the zero value is an empty one.
type ConfigFile struct{ options []option }

// ConfigFiles are several files, the weakest first.
type ConfigFiles []ConfigFile

// ReadConfigFile reads a configuration file. A missing one is empty.
func ReadConfigFile(name string) (ConfigFile, error) {
	data, err := sharedfile.Read(name)
	if sharedfile.Absent(err) {
		return ConfigFile{}, nil
	}
	if err != nil {
		return ConfigFile{}, fmt.Errorf("read git configuration: %w", err)
	}
	f, err := ParseConfig(data)
	if err != nil {
		return ConfigFile{}, fmt.Errorf("read git configuration %s: %w", name, err)
	}
	return f, nil
}

// ParseConfig reads the content of a configuration file.
func ParseConfig(data []byte) (ConfigFile, error) {
	var c ConfigFile
	err := parseOptions(data, func(o option) error {
		c.options = append(c.options, o)
		return nil
	})
	return c, err
}

// get returns the last value of a key that is not in a subsection.
func (c ConfigFile) get(section, key string) (string, bool) {
	for _, o := range slices.Backward(c.options) {
		if o.section == section && o.subsection == "" && o.key == key {
			return o.value, true
		}
	}
	return "", false
}

// boolean reads a key as git does; false if it is not set.
func (c ConfigFile) boolean(section, key string) bool {
	value, ok := c.get(section, key)
	return ok && isTrue(value)
}

func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "true", "yes", "on":
		return true
	}
	n, err := strconv.Atoi(value)
	return err == nil && n != 0
}

// Has reports whether a section exists.
func (c ConfigFile) Has(section string) bool {
	return slices.ContainsFunc(c.options, func(o option) bool { return o.section == section })
}

// Subsections returns the names in a section, such as the drivers of "filter", in their
// order.
func (c ConfigFile) Subsections(section string) []string {
	var names []string
	for _, o := range c.options {
		if o.section == section && o.subsection != "" && o.subsection != nameless && !slices.Contains(names, o.subsection) {
			names = append(names, o.subsection)
		}
	}
	return names
}

// Values returns the values of a key of a subsection, or of the section itself if that
// is "", in their order.
func (c ConfigFile) Values(section, subsection, key string) []string {
	var values []string
	for _, o := range c.options {
		if o.section == section && o.subsection == subsection && o.key == key {
			values = append(values, o.value)
		}
	}
	return values
}

// subsections returns the names in a section of any file.
func (files ConfigFiles) subsections(section string) []string {
	var names []string
	for _, f := range files {
		names = append(names, f.Subsections(section)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Values returns the values of a key of a subsection, in the order of the files. An
// empty value removes those before it.
func (files ConfigFiles) Values(section, subsection, key string) []string {
	var values []string
	for _, f := range files {
		for _, v := range f.Values(section, subsection, key) {
			if values = append(values, v); v == "" {
				values = nil
			}
		}
	}
	return values
}

// checkFormat rejects repositories with a format version or extension that this
// package does not support.
func checkFormat(c ConfigFile) error {
	version, _ := c.get("core", "repositoryformatversion")
	if version != "" && version != "0" && version != "1" {
		return &UnsupportedError{Reason: "repository format version " + version + " is not supported"}
	}
	for _, name := range c.Subsections("remote") {
		if values := c.Values("remote", name, "promisor"); len(values) > 0 && isTrue(values[len(values)-1]) {
			return &UnsupportedError{Reason: "partial clones are not supported: objects may be missing (remote." + name + ".promisor is set)"}
		}
	}
	for _, o := range c.options {
		if o.section != "extensions" || o.key == "" {
			continue
		}
		if err := checkExtension(o.key, o.value); err != nil {
			return err
		}
	}
	return nil
}

func checkExtension(key, value string) error {
	switch key {
	case "noop", "noop-v1", "preciousobjects", "relativeworktrees", "worktreeconfig":
		return nil
	case "objectformat":
		if strings.EqualFold(value, "sha1") {
			return nil
		}
		return &UnsupportedError{Reason: "object format " + value + " not supported, only sha1"}
	case "refstorage":
		if strings.EqualFold(value, "files") {
			return nil
		}
		return &UnsupportedError{Reason: "reference storage " + value + " not supported, only files"}
	case "partialclone":
		return &UnsupportedError{Reason: "partial clones are not supported: objects may be missing"}
	}
	return &UnsupportedError{Reason: "repository extension " + key + " is not supported"}
}

// Settings are the settings that this package uses of git's configuration.
type Settings struct {
	ExcludesFile   string // "" for none
	AttributesFile string // "" for none
	SystemAttrs    string // "" for none
	AutoCRLF       string // "true", "input" or "false"
	FileMode       bool
	Symlinks       bool
	TrustCtime     bool
	logRefs        bool // whether new reflogs are created
}

// get returns the last value of a key that is not in a subsection.
func (files ConfigFiles) get(section, key string) (string, bool) {
	for _, f := range slices.Backward(files) {
		if v, ok := f.get(section, key); ok {
			return v, true
		}
	}
	return "", false
}

// boolean is [ConfigFile.boolean] over all files, with the value of a key that is not set.
func (files ConfigFiles) boolean(section, key string, unset bool) bool {
	v, ok := files.get(section, key)
	if !ok {
		return unset
	}
	return isTrue(v)
}

// settings evaluates configuration files, of which the last is the repository's.
func (files ConfigFiles) settings(env Env) Settings {
	local := files[len(files)-1]
	get := func(key string) (string, bool) { return files.get("core", key) }
	boolean := func(key string, unset bool) bool { return files.boolean("core", key, unset) }
	s := Settings{
		ExcludesFile:   env.userFile(get, "excludesfile", "ignore"),
		AttributesFile: env.userFile(get, "attributesfile", "attributes"),
		FileMode:       boolean("filemode", true),
		Symlinks:       boolean("symlinks", true),
		TrustCtime:     boolean("trustctime", true),
		logRefs:        boolean("logallrefupdates", !local.boolean("core", "bare")),
		AutoCRLF:       "false",
	}
	if env.SystemConfig != "" {
		s.SystemAttrs = filepath.Join(filepath.Dir(env.SystemConfig), "gitattributes")
	}
	if v, ok := get("autocrlf"); ok && strings.EqualFold(v, "input") {
		s.AutoCRLF = "input"
	} else if ok && isTrue(v) {
		s.AutoCRLF = "true"
	}
	return s
}

// configNames returns the configuration files outside of the repository, the
// weakest first.
func configNames(env Env) []string {
	var names []string
	if env.SystemConfig != "" {
		names = append(names, env.SystemConfig)
	}
	if dir := env.configHome(); dir != "" {
		names = append(names, filepath.Join(dir, "config"))
	}
	if env.Home != "" {
		names = append(names, filepath.Join(env.Home, ".gitconfig"))
	}
	return names
}

// configHome is the user's directory of git's configuration files.
func (e Env) configHome() string {
	switch {
	case e.XDGConfigHome != "":
		return filepath.Join(e.XDGConfigHome, "git")
	case e.Home != "":
		return filepath.Join(e.Home, ".config", "git")
	}
	return ""
}

// userFile returns the file that a key of section core names, else the one of
// the user's configuration directory.
func (e Env) userFile(get func(string) (string, bool), key, name string) string {
	if v, ok := get(key); ok {
		if rest, tilde := strings.CutPrefix(v, "~/"); tilde && e.Home != "" {
			return filepath.Join(e.Home, rest)
		}
		return v
	}
	if dir := e.configHome(); dir != "" {
		return filepath.Join(dir, name)
	}
	return ""
}
