package preflight

import (
	"path"
	"strings"

	"github.com/millhand/millhand/tasks"
)

// changedProgram returns a path of a pull request's changes that a program of the manifest names, and the program; "" for none.
// Programs run in the workspace, so they would run what the pull request has there.
func changedProgram(all []tasks.Program, below string, changed []string) (file, by string) {
	for _, p := range all {
		for _, name := range named(p.Command) {
			for _, file := range changed {
				if at := path.Join(below, name); file == at || strings.HasPrefix(file, at+"/") {
					return file, p.Name
				}
			}
		}
	}
	return "", ""
}

// named returns the words of a command that can be relative paths.
func named(command []string) (names []string) {
	for _, arg := range command {
		for word := range strings.FieldsFuncSeq(arg, func(r rune) bool { return strings.ContainsRune(" \t\r\n'\"`;|&<>(){}=$,", r) }) {
			if word = path.Clean(word); !path.IsAbs(word) && word != "." && !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "../") {
				names = append(names, word)
			}
		}
	}
	return names
}
