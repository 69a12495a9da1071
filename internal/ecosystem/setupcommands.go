package ecosystem

import (
	"path"
	"slices"
	"strings"
)

// Command returns the setup command, to be run in the workspace.
func (f Found) Command() string {
	if f.Dir == "." {
		return f.Setup
	}
	return "cd " + f.Dir + " && " + f.Setup
}

// maxNested is the maximum number of directories below the workspace that Needed returns.
const maxNested = 5

// Needed returns those of a workspace that commands are likely to need: those at its top, and
// in directories that a command names; without any at the top, all but those of documents
// and examples. A directory that belongs to a project above it is not listed.
func Needed(found []Found, commands []string) []Found {
	top := slices.ContainsFunc(found, func(f Found) bool { return f.Dir == "." })
	nested := 0
	var needed []Found
	for _, f := range found {
		if f.Dir == "." {
			needed = append(needed, f)
			continue
		}
		named := slices.ContainsFunc(commands, func(line string) bool { return names(line, f.Dir) })
		if !named && (top || secondary(f.Dir)) || f.belongs(found) || quoted(f.Dir) != f.Dir || nested == maxNested {
			continue
		}
		nested++
		needed = append(needed, f)
	}
	return needed
}

// names reports whether a command line contains a path in a directory.
func names(line, dir string) bool {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n'\"=;&|()<>:", r) })
	return slices.ContainsFunc(words, func(word string) bool {
		word = path.Clean(word)
		return word == dir || strings.HasPrefix(word, dir+"/")
	})
}

// secondary reports whether a directory is one of those that tests rarely need.
func secondary(dir string) bool {
	first, _, _ := strings.Cut(dir, "/")
	return slices.Contains([]string{"doc", "docs", "example", "examples"}, first)
}

// belongs reports whether a project above lists the dependencies: a workspace of npm or Cargo, a
// Maven or Gradle build of several modules, or a go.work.
func (f Found) belongs(found []Found) bool {
	return slices.ContainsFunc(found, func(above Found) bool {
		if above.Registry != f.Registry || above.Dir == f.Dir || above.Dir != "." && !strings.HasPrefix(f.Dir, above.Dir+"/") {
			return false
		}
		switch f.Registry {
		case "go":
			return slices.Contains(above.Locks, "go.work")
		case "pypi":
			return false
		}
		return len(f.Locks) == 0
	})
}

// InDirs returns a text for users in which the setup commands of package managers that only
// directories below the workspace use are to be run there.
func InDirs(text string, found []Found, commands []string) string {
	in := map[string][]string{}
	for _, f := range Needed(found, commands) {
		in[f.Setup] = append(in[f.Setup], f.Command())
	}
	for setup, lines := range in {
		text = strings.ReplaceAll(text, "["+setup+"]", "["+strings.Join(lines, ", ")+"]")
	}
	return text
}
