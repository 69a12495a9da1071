package preflight

import (
	"path"
	"slices"
	"strings"

	"github.com/millhand/millhand/tasks"
)

// headChanges are the paths that differ between the base and the head of a pull request.
type headChanges struct {
	paths []string
	below string // the workspace
	// through returns the names by which the base finds a path: of symlinks several.
	through func(name string) ([]string, error)
}

// programs returns a path of the changes that a program of the manifest runs, and the program; "" for none. Programs run in the
// workspace, so they would run what the pull request has there.
func (c headChanges) programs(all []tasks.Program) (file, by string, err error) {
	for _, p := range all {
		for _, name := range named(p.Command) {
			if file, err = c.has(name, true); err != nil || file != "" {
				return file, p.Name, err
			}
		}
		if file := c.recipes(p.Command); file != "" {
			return file, p.Name, nil
		}
	}
	return "", "", nil
}

// command returns a path of the changes that decides what a shell line does: a file that it names, or that a program
// reads its commands from; "" for none.
func (c headChanges) command(line string) (file string, err error) {
	command := []string{line}
	for _, name := range named(command) {
		if file, err = c.has(name, false); err != nil || file != "" {
			return file, err
		}
	}
	return c.recipes(command), nil
}

// has returns the path of the changes by which a name, relative to the workspace, can be of another file than in the base; "" for none.
// within is for directories, which are of another file if one below them is.
func (c headChanges) has(name string, within bool) (string, error) {
	at := path.Join(c.below, name)
	if at == "." || at == ".." || strings.HasPrefix(at, "../") {
		return "", nil
	}
	names, err := c.through(at)
	if err != nil {
		return "", err
	}
	for _, at := range names {
		for _, file := range c.paths {
			if file == at || strings.HasPrefix(at, file+"/") || within && strings.HasPrefix(file, at+"/") {
				return file, nil
			}
		}
	}
	return "", nil
}

// recipes returns a changed file from which a program of a command reads what to run, although no argument names it; "" for none.
func (c headChanges) recipes(command []string) string {
	for _, word := range words(command) {
		files := recipesOf(path.Base(word))
		at := slices.IndexFunc(c.paths, func(file string) bool { return slices.Contains(files, strings.ToLower(path.Base(file))) })
		if at >= 0 {
			return c.paths[at]
		}
	}
	return ""
}

// recipesOf returns the names, in lower case, of the files that have the commands of a program.
func recipesOf(program string) []string {
	switch program {
	case "make", "gmake":
		return []string{"makefile", "gnumakefile"}
	case "just":
		return []string{"justfile", ".justfile"}
	case "task":
		return []string{"taskfile.yml", "taskfile.yaml", "taskfile.dist.yml", "taskfile.dist.yaml"}
	case "npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "turbo", "nx":
		return []string{"package.json"}
	case "deno":
		return []string{"deno.json", "deno.jsonc"}
	case "mvn", "mvnw":
		return []string{"pom.xml"}
	case "gradle", "gradlew":
		return []string{"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"}
	case "ant":
		return []string{"build.xml"}
	case "bundle":
		return []string{"gemfile"}
	case "hatch", "pdm", "poe":
		return []string{"pyproject.toml"}
	case "invoke", "inv":
		return []string{"tasks.py"}
	case "mage":
		return []string{"magefile.go"}
	case "rake":
		return []string{"rakefile", "rakefile.rb"}
	case "composer":
		return []string{"composer.json"}
	case "tox", "nox":
		return []string{"tox.ini", "noxfile.py"}
	case "pre-commit":
		return []string{".pre-commit-config.yaml"}
	}
	return nil
}

// named returns the words of a command that can be relative paths. The module after -m, of Python, can be a directory or a file.
func named(command []string) (names []string) {
	all := words(command)
	for i, word := range all {
		if word = path.Clean(word); !path.IsAbs(word) && !strings.HasPrefix(word, "-") {
			names = append(names, word)
		}
		if i > 0 && all[i-1] == "-m" && !strings.Contains(word, "/") {
			module := strings.ReplaceAll(word, ".", "/")
			names = append(names, module, module+".py", module+"/__main__.py")
		}
	}
	return names
}

// words returns the words of a command, in whatever quotes and lists of a shell they are.
func words(command []string) (all []string) {
	for _, arg := range command {
		all = append(all, strings.FieldsFunc(arg, func(r rune) bool { return strings.ContainsRune(" \t\r\n'\"`;|&<>(){}=$,", r) })...)
	}
	return all
}
