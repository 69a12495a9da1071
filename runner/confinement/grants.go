package confinement

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/sandbox"
)

// granted returns what the rules of a profile let commands write or read outside of the workspace. A
// rule grants a directory if its pattern is the directory, optionally followed by wildcards, and a
// file that it names for reading. What may be written can be read as well. Rules of presets grant
// nothing: they let command lines name the programs and files of the system, which every
// sandbox shows except for private files.
func granted(p permission.Profile) []sandbox.Grant {
	var all []sandbox.Grant
	for _, r := range p.Rules {
		path := strings.TrimSuffix(strings.TrimSuffix(r.Pattern, "*"), "*")
		path = strings.TrimSuffix(path, "/")
		if r.Effect != permission.Allow || r.Preset || !filepath.IsAbs(path) || strings.ContainsAny(path, "*?[{") {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		write, subject := r.Permission == permission.ExternalDirectory, path
		if info.IsDir() {
			subject += "/x"
		}
		if (write && info.IsDir() || r.Permission == permission.ExternalRead) && p.Written(permission.Need(r.Permission, subject)) {
			all = append(all, sandbox.NewGrant(path, write))
		}
	}
	return slices.DeleteFunc(all, func(g sandbox.Grant) bool {
		return !g.Writable() && slices.Contains(all, sandbox.NewGrant(g.Path(), true))
	})
}

// Concealed returns the private files and directories of the system that the rules of a profile leave
// hidden: from commands, by the sandbox, and from file tools, which run in this process.
func Concealed(p permission.Profile, private *sandbox.Private) []string {
	return private.Concealed(granted(p))
}

// ConcealedFromTools is Concealed for file tools: nothing if no rule lets them leave the workspace.
func ConcealedFromTools(p permission.Profile, private *sandbox.Private) []string {
	if !slices.ContainsFunc(p.Rules, func(r permission.Rule) bool {
		return r.Permission == permission.ExternalDirectory && r.Effect == permission.Allow
	}) {
		return nil
	}
	return Concealed(p, private)
}

// grants returns the access to paths of the job itself, such as its repository and what its
// manifest names.
func grants(write bool, paths ...string) []sandbox.Grant {
	all := make([]sandbox.Grant, 0, len(paths))
	for _, p := range paths {
		all = append(all, sandbox.NewGrant(p, write))
	}
	return all
}
