package jshost

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// maxPackages is how many packages are made readable each; of more, their node_modules are.
const maxPackages = 32

const nodeModules = "/node_modules/"

// packageOf returns the directory of the installed package that a file belongs to; false for other files.
func packageOf(file string) (dir string, ok bool) {
	at := strings.LastIndex(file, nodeModules)
	if at < 0 {
		return "", false
	}
	at += len(nodeModules)
	name, rest, ok := strings.Cut(file[at:], "/")
	if ok && strings.HasPrefix(name, "@") {
		var second string
		second, _, ok = strings.Cut(rest, "/")
		name = filepath.Join(name, second)
	}
	return file[:at] + name, ok
}

// packageDirs returns the directories of packages, without those that contain each other.
func packageDirs(packages map[string]bool) []string {
	all := slices.Sorted(maps.Keys(packages))
	if len(all) > maxPackages {
		for i, dir := range all {
			first, _, _ := strings.Cut(dir, nodeModules)
			all[i] = first + strings.TrimSuffix(nodeModules, "/")
		}
	}
	inner := func(dir string) bool {
		return slices.ContainsFunc(all, func(other string) bool { return strings.HasPrefix(dir, other+"/") })
	}
	return slices.Compact(slices.DeleteFunc(slices.Clone(all), inner))
}
