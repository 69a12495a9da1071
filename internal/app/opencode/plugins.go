package opencode

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// packageName is a package of npm, optionally with a version.
var packageName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^((?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*)(@[A-Za-z0-9.^~*+_-]+)?$`)
})

// plugins adds the plugins to the manifest: the files in .opencode, and those of the
// configuration. Packages of npm are a comment, because a run installs nothing; the comment is
// returned if no plugin has it.
func (c *converter) plugins(m mapping, files []string, n *node) (comment string) {
	var packages []string
	for _, item := range n.items {
		spec := item
		if item.list && len(item.items) > 0 { // with options
			spec = item.items[0]
			c.note(item, "the options of plugin %q are not converted: write {path: PATH, options: {KEY: VALUE}}", spec.text())
		}
		name, isFile := strings.CutPrefix(spec.text(), "file://")
		parts := packageName().FindStringSubmatch(name)
		file, found := c.pluginPath(name, spec)
		switch {
		case name == "" || slices.Contains(files, file):
		case strings.HasPrefix(name, "-"), strings.Contains(name, "*"), strings.HasPrefix(name, "opencode."):
			c.note(item, "plugin %q is not converted: it switches plugins of OpenCode on or off", name)
		case found:
			files = append(files, file)
		case parts == nil || isFile:
			c.note(item, "plugin %q is not converted: it is not a file or a package in this directory", name)
		default:
			packages = append(packages, fmt.Sprintf("./node_modules/%s (npm install %s)", parts[1], parts[0]))
			c.note(item, "plugin %q is not converted: a run installs no packages; npm install it here, and add ./node_modules/%s to plugins", name, parts[1])
		}
	}
	if packages != nil {
		comment = "Plugins that are packages: install them here, and add their paths to plugins:\n" + strings.Join(packages, "\n")
	}
	if len(files) > 0 {
		m.set("plugins", list(files...), comment)
		return ""
	}
	return comment
}

// pluginPath returns the path of a plugin relative to the manifest, if it is a script, or a directory
// with a package.json. A relative one starts with a dot, and is relative to its configuration file.
func (c *converter) pluginPath(name string, n *node) (file string, found bool) {
	file = name
	full := name
	switch {
	case filepath.IsAbs(name):
	case strings.HasPrefix(name, "."):
		config, _, _ := strings.Cut(n.at, ":")
		if file = path.Join(path.Dir(config), name); !strings.HasPrefix(file, "../") {
			file = "./" + file
		}
		full = filepath.Join(c.dir, file)
	default:
		return "", false
	}
	info, err := os.Stat(full)
	switch {
	case err != nil:
		return "", false
	case info.IsDir():
		_, err = os.Stat(filepath.Join(full, "package.json"))
		return file, err == nil
	}
	return file, info.Mode().IsRegular() && isScript(full)
}
