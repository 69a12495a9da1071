package sandbox

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
)

// Cache is what a build tool keeps between builds: directories, and the variables
// that tell the tool where they are.
type Cache struct {
	Dirs []string // to be granted as Spec.Writable, once they exist
	Env  []string // NAME=value
}

// cacheDirs tells, by the names that a profile uses, which variables lead to a
// tool's caches, and where those are by default, below the home directory.
func cacheDirs() map[string]map[string]string {
	return map[string]map[string]string{
		"go":     {"GOMODCACHE": "go/pkg/mod", "GOCACHE": ".cache/go-build"},
		"npm":    {"npm_config_cache": ".npm"},
		"yarn":   {"YARN_CACHE_FOLDER": ".cache/yarn"},
		"pnpm":   {"npm_config_store_dir": ".local/share/pnpm/store"},
		"cargo":  {"CARGO_HOME": ""},
		"pip":    {"PIP_CACHE_DIR": ".cache/pip"},
		"uv":     {"UV_CACHE_DIR": ".cache/uv"},
		"maven":  {"MAVEN_ARGS": ".m2/repository"},
		"gradle": {"GRADLE_USER_HOME": ""},
	}
}

// CacheNames returns the names of the caches that there are, sorted.
func CacheNames() []string { return slices.Sorted(maps.Keys(cacheDirs())) }

// FindCache returns a cache by its name, as the variables of the user's own
// environment place it, or below the user's home. Cargo's and Gradle's homes
// hold credentials and programs that run outside, too, so theirs are directories
// apart, below the directory own.
func FindCache(name, home, own string, getenv func(string) string) (Cache, error) {
	dirs, ok := cacheDirs()[name]
	if !ok {
		return Cache{}, fmt.Errorf("there is no cache %q; there are %v", name, CacheNames())
	}
	var c Cache
	for _, variable := range slices.Sorted(maps.Keys(dirs)) {
		dir := filepath.Join(home, dirs[variable])
		if set := getenv(variable); filepath.IsAbs(set) && dirs[variable] != "" && variable != "MAVEN_ARGS" {
			dir = set
		}
		if variable == "GOMODCACHE" && getenv("GOMODCACHE") == "" && filepath.IsAbs(getenv("GOPATH")) {
			dir = filepath.Join(filepath.SplitList(getenv("GOPATH"))[0], "pkg/mod")
		}
		if dirs[variable] == "" {
			dir = filepath.Join(own, name)
		}
		c.Dirs = append(c.Dirs, path.Clean(dir))
		value := dir
		if variable == "MAVEN_ARGS" {
			value = "-Dmaven.repo.local=" + dir
		}
		c.Env = append(c.Env, variable+"="+value)
	}
	return c, nil
}
