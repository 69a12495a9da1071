package opencode

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Directories of .opencode with agents and with commands.
var (
	agentDirs   = []string{"agent", "agents"}
	commandDirs = []string{"command", "commands"}
)

// markdown returns the Markdown files below directories of .opencode, relative to dir.
func markdown(dir string, names []string) []string {
	var files []string
	for _, name := range names {
		at := path.Join(".opencode", name)
		fs.WalkDir(os.DirFS(dir), at, func(file string, e fs.DirEntry, err error) error { //nolint:errcheck // the function returns no error
			if err == nil && !e.IsDir() && strings.HasSuffix(file, ".md") {
				files = append(files, file)
			}
			return nil // a directory that can't be read has no files
		})
	}
	return files
}

// agentDirectories returns the entries of agents_from for the agents in .opencode. In OpenCode the name of an agent in a
// subdirectory contains that of the subdirectory; here it does not.
func (c *converter) agentDirectories() []string {
	var all []string
	names := map[string]string{}
	files := markdown(c.dir, agentDirs)
	slices.SortStableFunc(files, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
	for _, file := range files {
		dir, name := path.Dir(file), path.Base(file)
		entry := dir
		if strings.Count(dir, "/") == 1 {
			entry = ".opencode"
		}
		if other := names[name]; other != "" {
			c.note(&node{at: file}, "the agent has the name of %s: name one otherwise, or write agents_from yourself", other)
		} else if names[name] = file; !slices.Contains(all, entry) {
			all = append(all, entry)
			if entry != ".opencode" {
				c.note(&node{at: dir}, "its agents are named without the directory")
			}
		}
	}
	return all
}

// scripts returns the tool files or plugins in directories of .opencode.
func scripts(dir string, names ...string) []string {
	var files []string
	for _, name := range names {
		entries, err := os.ReadDir(filepath.Join(dir, ".opencode", name))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if !e.IsDir() && isScript(e.Name()) {
				files = append(files, "./"+path.Join(".opencode", name, e.Name()))
			}
		}
	}
	return files
}

// isScript reports whether a file's name is that of a tool file or a plugin.
func isScript(name string) bool {
	ext := path.Ext(name)
	return (ext == ".ts" || ext == ".js") && !strings.HasSuffix(name, ".d.ts")
}

// directory notes what .opencode has for OpenCode, and the manifest can't name.
func (c *converter) directory() {
	for _, d := range []struct{ names, fix string }{
		{"mode modes", "move its files to .opencode/agent, and add mode: primary to each"},
	} {
		for name := range strings.FieldsSeq(d.names) {
			entries, err := os.ReadDir(filepath.Join(c.dir, ".opencode", name))
			var files []string
			for _, e := range entries {
				files = append(files, e.Name())
			}
			if err == nil && len(files) > 0 {
				c.note(&node{at: ".opencode/" + name}, "%s not converted; %s", strings.Join(files, ", "), d.fix)
			}
		}
	}
}
