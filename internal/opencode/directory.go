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

// hasAgents reports whether agents_from finds agents in .opencode.
func hasAgents(dir string) bool {
	return slices.ContainsFunc(markdown(dir, agentDirs), func(file string) bool { return strings.Count(file, "/") == 2 })
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
	below := map[string]bool{}
	for _, file := range markdown(c.dir, agentDirs) {
		if dir := path.Dir(file); strings.Count(dir, "/") > 1 && !below[dir] {
			below[dir] = true
			c.note(&node{at: dir}, "agents in subdirectories are not converted; add %s to agents_from", dir)
		}
	}
}
